import { workloadName } from '@wherry/core/workload-name.ts';
import type { DesiredWorkload, ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import type { FunctionResource } from '@wherry/core/resources/kinds.ts';
import type { FunctionStatus } from '@wherry/core/resources/function.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import type { CodeOrigin, FunctionFacts, Rejection } from './function-facts.ts';

/** How many revisions a function remembers. */
const REVISIONS_KEPT = 10;

/** Which workloads should run, and which one answers calls. */
export interface Rollout {
  /** Workloads to create, or to keep as they are. */
  ensure: DesiredWorkload[];
  /** Names of workloads that stay; all others of the function are removed once no router needs them. */
  keep: Set<string>;
  /** What answers calls from now on; undefined if nothing does yet. */
  active: { revision: Digest; workload: string } | undefined;
  revisions: FunctionStatus['revisions'];
  /** The desired workload, as far as it is known; it may have been rejected. */
  desired: DesiredWorkload | undefined;
  /** A workload is starting and will take over. */
  starting: boolean;
  /** Workloads that are not tried again while the desired one stays the same. */
  rejections: Rejection[];
  /** That of the desired code. */
  rejection: Rejection | undefined;
}

/** Whether the function may run at all. */
export function mayRun({ fn, route }: FunctionFacts): boolean {
  return fn.spec.enabled && fn.metadata.deletionTimestamp === undefined && route?.accepted === true;
}

/**
 * Decides which workloads are desired. The one that answers calls stays until another revision or template of the
 * function has all its instances ready; then the move is one step. A workload that never becomes ready never takes
 * over.
 */
export function decideRollout(facts: FunctionFacts): Rollout {
  const { fn, workloads } = facts;
  const { activeWorkload, revisions } = fn.status;
  const active = activePair(fn);
  const idle = { active, revisions, desired: undefined, starting: false, rejections: [], rejection: undefined };
  if (!mayRun(facts)) return { ...idle, ensure: [], keep: new Set() };

  const rejections = standingRejections(facts);
  const isRejected = (desired: DesiredWorkload): boolean =>
    rejections.some(({ workload }) => workload === desired.name);
  const desired = desiredOf(facts);
  // The current generation is invalid: the revision that answers calls runs as the spec requires.
  const wanted = [desired, lastGood(fn)].find((desired) => desired !== undefined && !isRejected(desired));
  const candidate = wanted?.name === activeWorkload ? undefined : wanted;
  const common = {
    desired,
    ensure: [activeDesired(fn), candidate].filter((desired) => desired !== undefined),
    keep: new Set([activeWorkload ?? '', candidate?.name ?? '', ...possiblyDesired(facts)]),
    rejections,
    rejection: rejections.find(({ workload }) => workload === desired?.name),
  };
  const observed = workloads.find(({ name }) => name === candidate?.name);
  if (candidate === undefined || readyInstances(observed) < candidate.replicas) {
    return { ...idle, ...common, starting: candidate !== undefined };
  }
  const next = { revision: candidate.revision, workload: candidate.name };
  return { ...common, active: next, revisions: remember(facts, candidate.revision), starting: false };
}

/**
 * Until it is known what the code builds to, any workload may be the desired one: an operator that has just started
 * must not stop a start that its predecessor began.
 */
function possiblyDesired({ code, workloads }: FunctionFacts): string[] {
  return code.state === 'building' ? workloads.map(({ name }) => name) : [];
}

function activePair({ status }: FunctionResource): Rollout['active'] {
  const { activeRevision, activeWorkload } = status;
  return activeRevision === undefined || activeWorkload === undefined
    ? undefined
    : { revision: activeRevision, workload: activeWorkload };
}

/** How many of a workload's instances take calls. */
export function readyInstances(workload: ObservedWorkload | undefined): number {
  return workload?.instances.filter((instance) => instance.ready).length ?? 0;
}

/** The workload that runs a revision as the function's spec requires. */
export function desiredWorkload(fn: FunctionResource, revision: Digest): DesiredWorkload {
  const { spec, metadata } = fn;
  const template = { memoryMiB: spec.resources.memoryMiB, cpuMillis: spec.resources.cpuMillis };
  return {
    name: workloadName(metadata.name, revision, template),
    functionName: metadata.name,
    functionUid: metadata.uid,
    revision,
    template,
    replicas: spec.scaling.minReplicas,
    drainSeconds: spec.timeoutSeconds,
  };
}

/** The workload that answers calls now, when the spec still describes it; one of an earlier template only stays. */
function activeDesired(fn: FunctionResource): DesiredWorkload | undefined {
  const { activeRevision, activeWorkload } = fn.status;
  if (activeRevision === undefined) return undefined;
  const desired = desiredWorkload(fn, activeRevision);
  return desired.name === activeWorkload ? desired : undefined;
}

/** While the code is unknown or cannot be built, the revision that answers calls is desired. */
function desiredOf({ code, fn }: FunctionFacts): DesiredWorkload | undefined {
  return code.state === 'found' ? desiredWorkload(fn, code.revision) : lastGood(fn);
}

function lastGood(fn: FunctionResource): DesiredWorkload | undefined {
  return fn.status.activeRevision === undefined ? undefined : desiredWorkload(fn, fn.status.activeRevision);
}

/**
 * Workloads that were rejected before and are still desired, and candidates that failed since. A workload that answers
 * calls is never among them.
 */
function standingRejections(facts: FunctionFacts): Rejection[] {
  const { code, fn, workloads } = facts;
  const desired = [desiredOf(facts)?.name, lastGood(fn)?.name];
  const standing = facts.rejections.filter(({ workload }) => code.state === 'building' || desired.includes(workload));
  const fresh = workloads.flatMap(({ name, failure }) => {
    const isCandidate = desired.includes(name) && name !== fn.status.activeWorkload;
    return failure === undefined || !isCandidate || standing.some(({ workload }) => workload === name)
      ? []
      : [{ workload: name, ...failure }];
  });
  return [...standing, ...fresh];
}

function remember({ fn, code, now }: FunctionFacts, revision: Digest): FunctionStatus['revisions'] {
  const known = fn.status.revisions ?? [];
  const origin: CodeOrigin | undefined = code.state === 'found' && code.revision === revision ? code.origin : undefined;
  if (origin === undefined || known.some((entry) => entry.revision === revision)) return fn.status.revisions;
  return [{ revision, ...origin, createdAt: new Date(now).toISOString() }, ...known].slice(0, REVISIONS_KEPT);
}
