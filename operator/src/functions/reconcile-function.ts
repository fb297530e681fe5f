import { isDeepStrictEqual } from 'node:util';
import { findCondition } from '@wherry/core/resources/conditions.ts';
import { conflict } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { DesiredWorkload, Workloads } from '@wherry/core/ports/workloads.ts';
import type { CodeSourceResource, FunctionResource } from '@wherry/core/resources/kinds.ts';
import { parseHandler } from '../builds/build-target.ts';
import { routeOf } from '../informers/route-of.ts';
import type { ObservedWorkloads } from '../informers/observed-workloads.ts';
import { DONE, requeueAfter, stalled, waitingFor, type Outcome } from '../controller/outcome.ts';
import { writeStatus } from '../controller/write-status.ts';
import { decideFunction, type FunctionDecision } from './decide-function.ts';
import { mayRun } from './decide-rollout.ts';
import type { FunctionFacts, Rejection } from './function-facts.ts';
import { gatherCode, type CodeDependencies } from './gather-code.ts';

/** How soon to check again for routers that have not acknowledged a change. */
const ROUTERS_AGAIN_MS = 1000;

export interface FunctionDependencies extends CodeDependencies {
  store: ResourceStore;
  workloads: Workloads;
  observed: ObservedWorkloads;
  routers: {
    /** Whether every router has applied what is known of the function now; see `feed/router-feed.ts`. */
    know(functionName: string): boolean;
  };
  functionUrl: string;
  clock: Clock;
}

/** Brings a function's workloads and status to what its spec and its code require. */
export function createFunctionReconciler(dependencies: FunctionDependencies): (name: string) => Promise<Outcome> {
  /** Rejected candidates by function. Only in memory: after a restart each is tried once more. */
  const rejections = new Map<string, Rejection[]>();
  /** What was last ensured, by workload: nothing is ensured twice (K3). */
  const ensured = new Map<string, DesiredWorkload>();

  return async function reconcileFunction(name) {
    const fn = dependencies.caches.functions.get(name);
    if (fn === undefined) {
      rejections.delete(name);
      return removeAll(dependencies, ensured, name);
    }
    const source = dependencies.caches.sourceNamed(parseHandler(fn.spec.handler).source);
    const facts = await gather(dependencies, fn, rejections.get(name) ?? []);
    // Changes during gathering have enqueued the function again.
    if (dependencies.caches.functions.get(name) !== fn) return waitingFor('its newest state');
    const decision = decideFunction(facts);
    rejections.set(name, decision.rollout.rejections);
    await ensureAll(dependencies, ensured, { ...facts, source }, decision.rollout.ensure);
    await writeStatus(dependencies.store, fn, decision.status);
    for (const workload of decision.remove) await remove(dependencies, ensured, workload);
    return outcomeOf(facts, decision);
  };
}

async function gather(
  dependencies: FunctionDependencies,
  fn: FunctionResource,
  rejections: Rejection[],
): Promise<FunctionFacts> {
  const { name } = fn.metadata;
  const before = {
    fn,
    route: routeOf(dependencies.caches, fn),
    missingGroups: (fn.spec.keyGroups ?? []).filter((group) => dependencies.caches.groups.get(group) === undefined),
    rejections,
    functionUrl: dependencies.functionUrl,
    now: dependencies.clock.now(),
    code: { state: 'unneeded' } as const,
  };
  const code = mayRun({ ...before, workloads: [], routersKnow: false })
    ? await gatherCode(dependencies, fn)
    : before.code;
  // Read together, after the last await, so that they belong to one moment.
  return { ...before, code, workloads: dependencies.observed.of(name), routersKnow: dependencies.routers.know(name) };
}

/** The facts that were decided on, with the source as it was when its code was read. */
type DecidedOn = FunctionFacts & { source: CodeSourceResource | undefined };

/**
 * A cache that lags must not bring back what another operator, which has seen a newer function or source, has just
 * removed.
 */
async function refuseOldState(store: ResourceStore, { fn, source }: Pick<DecidedOn, 'fn' | 'source'>): Promise<void> {
  const [newest, newestSource] = await Promise.all([
    store.get('Function', fn.metadata.name),
    source && store.get('CodeSource', source.metadata.name),
  ]);
  if (newest?.metadata.resourceVersion !== fn.metadata.resourceVersion)
    throw conflict('The function has changed in the meantime.');
  if (newestSource?.metadata.resourceVersion !== source?.metadata.resourceVersion)
    throw conflict("The function's source has changed in the meantime.");
}

async function ensureAll(
  dependencies: FunctionDependencies,
  ensured: Map<string, DesiredWorkload>,
  facts: DecidedOn,
  desired: DesiredWorkload[],
): Promise<void> {
  const isThere = (one: DesiredWorkload): boolean =>
    facts.workloads.some(({ name, replicas }) => name === one.name && replicas === one.replicas);
  const open = desired.filter((one) => !isThere(one) || !isDeepStrictEqual(ensured.get(one.name), one));
  if (open.length === 0) return;
  await refuseOldState(dependencies.store, facts);
  for (const one of open) {
    await dependencies.workloads.ensure(one);
    ensured.set(one.name, one);
  }
}

async function remove(
  dependencies: FunctionDependencies,
  ensured: Map<string, DesiredWorkload>,
  name: string,
): Promise<void> {
  await dependencies.workloads.remove(name);
  ensured.delete(name);
}

/** Removes everything of a deleted function, once no router sends calls to it. */
async function removeAll(
  dependencies: FunctionDependencies,
  ensured: Map<string, DesiredWorkload>,
  name: string,
): Promise<Outcome> {
  const left = dependencies.observed.of(name);
  if (left.length === 0) return DONE;
  if (!dependencies.routers.know(name)) return requeueAfter(ROUTERS_AGAIN_MS);
  for (const workload of left) await remove(dependencies, ensured, workload.name);
  return DONE;
}

function outcomeOf(facts: FunctionFacts, { rollout, status }: FunctionDecision): Outcome {
  const surplus = facts.workloads.some(({ name }) => !rollout.keep.has(name));
  if (surplus && !facts.routersKnow) return requeueAfter(ROUTERS_AGAIN_MS);
  if (facts.code.state === 'building') return waitingFor('the build');
  if (rollout.starting) return waitingFor('the new instances');
  const wrong = status.conditions?.find((condition) => condition.status === 'False');
  const ready = findCondition(status.conditions, 'Ready');
  return wrong === undefined ? DONE : stalled(`${wrong.type}: ${ready?.reason ?? wrong.reason}`);
}
