import { findCondition } from '@wherry/core/resources/conditions.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { displayName, type CodeSourceResource, type FunctionResource } from '@wherry/core/resources/kinds.ts';
import type { BuildScheduler } from '../builds/build-scheduler.ts';
import { parseHandler } from '../builds/build-target.ts';
import type { Caches } from '../informers/caches.ts';
import type { ActiveTrees } from '../content/trees.ts';
import type { Code, CodeOrigin } from './function-facts.ts';

export interface CodeDependencies {
  caches: Caches;
  content: ContentStore;
  activeTrees: () => Promise<ActiveTrees>;
  builds: BuildScheduler;
}

/** Which code is desired: the function's pin, otherwise the result of building its handler with the active trees. */
export async function gatherCode(dependencies: CodeDependencies, fn: FunctionResource): Promise<Code> {
  const { source: sourceName } = parseHandler(fn.spec.handler);
  const source = dependencies.caches.sourceNamed(sourceName);
  const origin = originOf(sourceName, source);
  if (fn.spec.revision !== undefined) return gatherPin(dependencies.content, fn.spec.revision, origin);
  if (source === undefined) {
    return {
      state: 'failed',
      reason: 'SourceNotFound',
      message: `There is no code source named ${sourceName}: create it, or change the handler (${fn.spec.handler}).`,
    };
  }
  return notReady(source) ?? fromBuild(dependencies, fn, origin);
}

async function gatherPin(content: ContentStore, revision: string, origin: CodeOrigin | undefined): Promise<Code> {
  if (await content.has(revision)) return { state: 'found', revision, pinned: true, origin };
  return {
    state: 'failed',
    reason: 'RevisionNotFound',
    message: `The pinned revision ${revision} is no longer stored: pin another one, or remove the pin.`,
  };
}

async function fromBuild(
  dependencies: CodeDependencies,
  { spec, status }: FunctionResource,
  origin: CodeOrigin | undefined,
): Promise<Code> {
  const built = dependencies.builds.request({ handler: spec.handler, activeTrees: await dependencies.activeTrees() });
  if (built.state === 'built') return { state: 'found', revision: built.revision, pinned: false, origin };
  if (built.state === 'failed') return built;
  const before = status.revisions?.find(({ revision }) => revision === status.activeRevision);
  const isEdit = !built.first;
  return { state: 'building', changed: isEdit || before?.sourceRevision !== origin?.sourceRevision, isEdit };
}

/**
 * A source that names a tree and has no active one yet; one whose newest tree is missing still has its last good one.
 */
function notReady(source: CodeSourceResource): Code | undefined {
  if (source.status.tree !== undefined) return undefined;
  // Nothing was uploaded: the build says which file is missing.
  if (source.spec.type === 'manual' && source.spec.manual?.tree === undefined) return undefined;
  const ready = findCondition(source.status.conditions, 'Ready');
  // Its reconcile is in progress, and will enqueue the function again.
  if (ready === undefined || source.status.observedGeneration !== source.metadata.generation)
    return { state: 'building', changed: true, isEdit: false };
  if (ready.status === 'True') return undefined;
  return {
    state: 'failed',
    reason: 'SourceNotReady',
    message: `The code source ${displayName(source)} has no files yet: ${ready.message}`,
  };
}

function originOf(source: string, resource: CodeSourceResource | undefined): CodeOrigin | undefined {
  const tree = resource?.status.tree;
  return tree === undefined ? undefined : { source, sourceRevision: tree };
}
