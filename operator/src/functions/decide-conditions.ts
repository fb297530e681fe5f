import { findCondition, type ConditionDecision, type ConditionType } from '@wherry/core/resources/conditions.ts';
import type { RouteDecision } from '@wherry/core/resources/route-conflicts.ts';
import type { DesiredWorkload, ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import { deletingProblem } from '../controller/ready-conditions.ts';
import { readyInstances, type Rollout } from './decide-rollout.ts';
import type { FunctionFacts } from './function-facts.ts';

type Verdict = Omit<ConditionDecision, 'type'>;

/** A check returns its verdict on the facts, or undefined to leave the decision to the next one. */
type Check = (facts: FunctionFacts, rollout: Rollout) => Verdict | undefined;

/** The conditions of a function; each is the verdict of the first of its checks that has one. */
export function decideConditions(facts: FunctionFacts, rollout: Rollout): ConditionDecision[] {
  const route = first(routeChecks, facts, rollout);
  const code = first(codeChecks, facts, rollout);
  const available = first(availableChecks(route, code), facts, rollout);
  const ready = first(readyChecks(route, code, available), facts, rollout);
  return [
    ...named('RouteAccepted', route),
    ...named('CodeReady', code),
    ...named('Available', available),
    ...named('Ready', ready),
  ];
}

const deletingCheck: Check = ({ fn }) => {
  const problem = deletingProblem(fn);
  return problem && conditionFalse(problem.reason, problem.message);
};

const routeChecks: Check[] = [
  deletingCheck,
  ({ route, fn }) => (route?.accepted === false ? conditionFalse('RouteConflict', taken(route, fn)) : undefined),
  ({ route }) =>
    route === undefined
      ? conditionFalse('Invalid', 'The function has no route: spec.route is not a route pattern.')
      : undefined,
  () => conditionTrue('Accepted', ''),
];

const codeChecks: Check[] = [
  ({ code }) => (code.state === 'failed' ? conditionFalse(code.reason, code.message) : undefined),
  (_facts, { rejection }) =>
    rejection === undefined ? undefined : conditionFalse(rejection.reason, rejection.message),
  (facts, rollout) => inService(facts, rollout),
  (facts) => standing(facts),
  ({ code }) => (code.state === 'building' ? unknown('Building', 'The code is being built.') : undefined),
  (facts, { desired }) =>
    desired === undefined
      ? undefined
      : starting(facts, desired, {
          message: `Revision ${short(desired.revision)} is being started.`,
          counted: `instances of revision ${short(desired.revision)} are ready.`,
        }),
];

/**
 * The last verdict on the code, while it is being built again and nothing contradicts it: an operator that has just
 * started builds all code, which must not change the status of every working function. Nor does its start make code
 * better that could not be built. An edit may: what was wrong with the code before it is no verdict on the newest.
 */
function standing({ code, fn, workloads }: FunctionFacts): Verdict | undefined {
  const before = findCondition(fn.status.conditions, 'CodeReady');
  if (code.state !== 'building' || before?.observedGeneration !== fn.metadata.generation) return undefined;
  const stands =
    fn.status.activeRevision === undefined
      ? // The previous operator is starting its instances.
        before.reason === 'Starting' && workloads.length > 0
      : !code.isEdit && (before.status === 'False' || !code.changed);
  return stands ? (before as Verdict) : undefined;
}

/**
 * An instance that cannot be started at all is a fault to report, though it may pass: no node with room, no image. Then
 * `counted` says which instances are counted; those that serve meanwhile may be others.
 */
function starting(
  { workloads }: FunctionFacts,
  { name, replicas }: Pick<DesiredWorkload, 'name' | 'replicas'>,
  { message, counted }: { message: string; counted: string },
): Verdict {
  const observed = workloads.find((workload) => workload.name === name);
  if (observed?.waiting === undefined) return unknown('Starting', message);
  return conditionFalse('Starting', `${readyInstances(observed)} of ${replicas} ${counted} ${observed.waiting}`);
}

const availableChecks = (route: Verdict | undefined, code: Verdict | undefined): Check[] => [
  deletingCheck,
  ({ fn }) =>
    fn.spec.enabled ? undefined : conditionFalse('Disabled', 'The function is disabled: none of its instances run.'),
  (facts) =>
    facts.route?.accepted === true || route === undefined
      ? undefined
      : conditionFalse(route.reason, 'The function does not have its route: none of its instances run.'),
  // Nothing answers, and nothing ever did: the verdict on its code says why.
  (_facts, { active }) =>
    active === undefined && code !== undefined ? conditionFalse(code.reason, code.message) : undefined,
  (facts, rollout) => enough(facts, rollout),
  (facts, rollout) => {
    const failure = activeOf(facts, rollout)?.failure;
    return failure === undefined ? undefined : conditionFalse(failure.reason, failure.message);
  },
  (facts, rollout) => {
    const active = activeOf(facts, rollout);
    return conditionFalse(
      'Starting',
      withReason(`${readyInstances(active)} of ${facts.fn.spec.scaling.minReplicas} instances take calls.`, active),
    );
  },
];

/**
 * Ready is the desired state, and nothing else: the newest code, in instances as the spec wants them, and all of them.
 */
const readyChecks = (
  route: Verdict | undefined,
  code: Verdict | undefined,
  available: Verdict | undefined,
): Check[] => [
  deletingCheck,
  ({ fn }) =>
    fn.spec.enabled
      ? undefined
      : conditionFalse('Disabled', 'The function is disabled: calls are answered as if it did not exist.'),
  (facts) => (facts.route?.accepted === true ? undefined : route),
  ({ fn, missingGroups }) =>
    missingGroups.length > 0 && missingGroups.length === fn.spec.keyGroups?.length
      ? conditionFalse('KeyGroupNotFound', missing(fn, missingGroups, 'no key may call it'))
      : undefined,
  (_facts, { active }) => (active === undefined ? (code ?? available) : undefined),
  (facts, rollout) => (readyInstances(activeOf(facts, rollout)) === 0 ? available : undefined),
  // Calls are answered, but not by what the spec describes: so not Ready, while Available stays True.
  (_facts, { active }) =>
    code === undefined || code.status === 'True' || active === undefined
      ? undefined
      : { ...code, message: `Revision ${short(active.revision)} keeps serving. ${code.message}` },
  (facts, { desired, active }) =>
    desired === undefined || desired.name === active?.workload
      ? undefined
      : starting(facts, desired, {
          message: 'Instances with the new spec.resources are being started; earlier ones keep serving.',
          counted: 'new instances are ready; earlier ones keep serving.',
        }),
  (facts, { desired }) =>
    available?.status === 'True' || desired === undefined
      ? undefined
      : starting(facts, desired, { message: available?.message ?? '', counted: 'instances take calls.' }),
  ({ fn, missingGroups }) =>
    missingGroups.length > 0
      ? conditionTrue('KeyGroupNotFound', missing(fn, missingGroups, 'only keys of its other groups may call it'))
      : undefined,
  () => conditionTrue('Ready', ''),
];

function inService({ code }: FunctionFacts, { active }: Rollout): Verdict | undefined {
  if (code.state !== 'found' || code.revision !== active?.revision) return undefined;
  return conditionTrue(code.pinned ? 'Pinned' : 'Built', `Revision ${short(code.revision)} is active.`);
}

function enough(facts: FunctionFacts, rollout: Rollout): Verdict | undefined {
  const ready = readyInstances(activeOf(facts, rollout));
  return ready >= facts.fn.spec.scaling.minReplicas ? conditionTrue('MinimumReplicasAvailable', '') : undefined;
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
  return verdict === undefined
    ? []
    : [{ type, status: verdict.status, reason: verdict.reason, message: verdict.message }];
}

/** Routes that differ in the names of their parameters conflict: so the sentence has both. */
function taken(
  { holder, route, methods }: Extract<RouteDecision, { accepted: false }>,
  { spec }: FunctionFacts['fn'],
): string {
  const has = `The function ${holder} has the route ${route} for ${methods.join(', ')}`;
  const same = route === spec.route ? '' : `, which matches the same paths as ${spec.route}`;
  return `${has}${same}: change or delete one of the two.`;
}

function missing({ metadata }: FunctionFacts['fn'], groups: string[], effect: string): string {
  const named = `${groups.join(', ')}, which the function ${metadata.name} names,`;
  return groups.length === 1
    ? `The key group ${named} does not exist: ${effect}. Create the group, or remove it from spec.keyGroups.`
    : `The key groups ${named} do not exist: ${effect}. Create the groups, or remove them from spec.keyGroups.`;
}

const withReason = (message: string, workload: ObservedWorkload | undefined): string =>
  workload?.waiting === undefined ? message : `${message} ${workload.waiting}`;
const short = (revision: string): string => revision.slice(0, 12);
const conditionTrue = (reason: Verdict['reason'], message: string): Verdict => ({ status: 'True', reason, message });
const conditionFalse = (reason: Verdict['reason'], message: string): Verdict => ({ status: 'False', reason, message });
const unknown = (reason: Verdict['reason'], message: string): Verdict => ({ status: 'Unknown', reason, message });
