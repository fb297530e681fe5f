import { findCondition, type ConditionDecision, type ConditionType } from '@wherry/core/conditions.ts';
import type { ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import { readyInstances, type Rollout } from './decide-rollout.ts';
import type { FunctionFacts } from './function-facts.ts';

type Verdict = Omit<ConditionDecision, 'type'>;

/** A check looks at the facts and says what it found, or undefined: the next one decides. */
type Check = (facts: FunctionFacts, rollout: Rollout) => Verdict | undefined;

/**
 * The conditions of a function; each is what the first of its checks says that finds something. A verdict on code stands
 * until there is the next one: so nothing is written while a known good revision is built again after a start, and what
 * was wrong stays told until it is mended.
 */
export function decideConditions(facts: FunctionFacts, rollout: Rollout): ConditionDecision[] {
  const route = first(routeChecks, facts, rollout);
  const available = first(availableChecks, facts, rollout);
  const verdict = first(rollout.active === undefined ? [...codeChecks, ...firstCodeChecks] : codeChecks, facts, rollout);
  const code = verdict ?? (findCondition(facts.fn.status.conditions, 'CodeReady') as Verdict | undefined);
  const ready = first(readyChecks(route, code, available), facts, rollout);
  return [...named('RouteAccepted', route), ...named('CodeReady', verdict), ...named('Available', available), ...named('Ready', ready)];
}

const routeChecks: Check[] = [
  ({ route, fn }) =>
    route?.accepted === false
      ? no('RouteConflict', `The function ${route.holder} has the route ${fn.spec.route} with one of these methods: change one of the two, or delete it.`)
      : undefined,
  ({ route }) => (route === undefined ? no('Invalid', 'The function has no route: it is being deleted, or spec.route is no route pattern.') : undefined),
  () => yes('Accepted', ''),
];

const codeChecks: Check[] = [
  ({ code }) => (code.state === 'failed' ? no(code.reason, code.message) : undefined),
  (_facts, { rejection }) => (rejection === undefined ? undefined : no(rejection.reason, rejection.message)),
  (facts, rollout) => inService(facts, rollout),
];

/** While there never was a good revision. */
const firstCodeChecks: Check[] = [
  // Built again by an operator that has just begun, while the instances of what was built before it are being started.
  ({ code, fn, workloads }) => {
    const before = findCondition(fn.status.conditions, 'CodeReady');
    return code.state === 'building' && workloads.length > 0 && before?.reason === 'Starting' ? (before as Verdict) : undefined;
  },
  ({ code }) => (code.state === 'building' ? unknown('Building', 'The code is being built.') : undefined),
  ({ code, workloads }) =>
    code.state === 'found'
      ? unknown('Starting', withReason(`Revision ${short(code.revision)} is being started.`, workloads.find(({ revision }) => revision === code.revision)))
      : undefined,
];

const availableChecks: Check[] = [
  ({ fn }) => (fn.spec.enabled ? undefined : no('Disabled', 'The function is disabled: nothing of it runs.')),
  ({ route }) => (route?.accepted === true ? undefined : no('RouteConflict', 'The function does not have its route: nothing of it runs.')),
  (_facts, { active }) => (active === undefined ? no('Starting', 'No revision answers calls yet.') : undefined),
  (facts, rollout) => enough(facts, rollout),
  (facts, rollout) => {
    const failure = activeOf(facts, rollout)?.failure;
    return failure === undefined ? undefined : no(failure.reason, failure.message);
  },
  (facts, rollout) => {
    const active = activeOf(facts, rollout);
    return no('Starting', withReason(`${readyInstances(active)} of ${facts.fn.spec.scaling.minReplicas} instances take calls.`, active));
  },
];

const readyChecks = (route: Verdict | undefined, code: Verdict | undefined, available: Verdict | undefined): Check[] => [
  ({ fn }) => (fn.spec.enabled ? undefined : no('Disabled', 'The function is disabled: calls are answered as if it did not exist.')),
  (facts) => (facts.route?.accepted === true ? undefined : route),
  ({ fn, missingGroups }) => (missingGroups.length > 0 && missingGroups.length === fn.spec.keyGroups?.length ? no('KeyGroupNotFound', closed(missingGroups)) : undefined),
  // Nothing answers, and nothing ever did: why not is what its code says.
  (_facts, { active }) => (active === undefined ? (code ?? available) : undefined),
  (facts, rollout) => (readyInstances(activeOf(facts, rollout)) === 0 ? available : undefined),
  ({ missingGroups }) => (missingGroups.length > 0 ? yes('KeyGroupNotFound', closed(missingGroups)) : undefined),
  // Calls are answered, but not by what the spec asks for: so not Ready, while Available stays True.
  (_facts, { active }) => (code?.status === 'False' && active !== undefined ? no(code.reason, `Revision ${short(active.revision)} keeps serving: ${code.message}`) : undefined),
  () => yes('Ready', ''),
];

function inService({ code }: FunctionFacts, { active }: Rollout): Verdict | undefined {
  if (code.state !== 'found' || code.revision !== active?.revision) return undefined;
  return yes(code.pinned ? 'Pinned' : 'Built', `Revision ${short(code.revision)} answers calls.`);
}

function enough(facts: FunctionFacts, rollout: Rollout): Verdict | undefined {
  const ready = readyInstances(activeOf(facts, rollout));
  return ready >= facts.fn.spec.scaling.minReplicas ? yes('MinimumReplicasAvailable', '') : undefined;
}

/** The workload that answers calls. */
export function activeOf({ workloads }: FunctionFacts, { active }: Rollout): ObservedWorkload | undefined {
  return workloads.find(({ name }) => name === active?.workload);
}

function first(checks: Check[], facts: FunctionFacts, rollout: Rollout): Verdict | undefined {
  for (const check of checks) {
    const verdict = check(facts, rollout);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

function named(type: ConditionType, verdict: Verdict | undefined): ConditionDecision[] {
  return verdict === undefined ? [] : [{ type, status: verdict.status, reason: verdict.reason, message: verdict.message }];
}

const closed = (groups: string[]): string =>
  `The key groups ${groups.join(', ')} of spec.keyGroups do not exist: nobody has a key of them. Create them or take them out.`;
const withReason = (message: string, workload: ObservedWorkload | undefined): string =>
  workload?.waiting === undefined ? message : `${message} ${workload.waiting}`;
const short = (revision: string): string => revision.slice(0, 12);
const yes = (reason: Verdict['reason'], message: string): Verdict => ({ status: 'True', reason, message });
const no = (reason: Verdict['reason'], message: string): Verdict => ({ status: 'False', reason, message });
const unknown = (reason: Verdict['reason'], message: string): Verdict => ({ status: 'Unknown', reason, message });
