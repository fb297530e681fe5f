import type { Condition } from './meta.ts';

/** Condition types of all kinds; `docs/reference/conditions.md` says what each means. */
export const CONDITION_TYPES = [
  'Ready',
  'Reconciling',
  'Stalled',
  'RouteAccepted',
  'CodeReady',
  'Available',
  'Degraded',
] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** Why packages could not be resolved or fetched; messages name the package, and the file that requires it. */
export const PACKAGE_FAILURE_REASONS = [
  /** package.json, the lock or an `npm:` specifier cannot be read. */
  'ManifestInvalid',
  /** package.json and the lock do not agree. */
  'LockOutdated',
  /** The registry has no such package, or no version that fits. */
  'PackageNotFound',
  /** Not a registry tarball with integrity. */
  'PackageRefused',
  /** Packages require versions of each other that conflict. */
  'PackageConflict',
  /** What came is not what was promised (integrity), or not a tarball. */
  'PackageCorrupt',
  'PackageTooLarge',
  /** Offline, DNS, TLS, 401, 403, 429, 5xx: a later attempt may succeed. */
  'RegistryUnavailable',
  'InstallTimeout',
  /** The install process died twice over a source's packages, the second time with nothing else to do. */
  'InstallOutOfMemory',
  /** The install process died or failed in an unforeseen way. */
  'InstallFailed',
] as const;

/** Why a build failed. */
export const BUILD_FAILURE_REASONS = [
  'SourceNotFound',
  'HandlerNotFound',
  'SyntaxError',
  'ImportNotFound',
  'ImportNotSupported',
  'ExportError',
  'BuildTimeout',
  'BuildOutOfMemory',
  'BuildTooLarge',
  'BuildFailed',
  ...PACKAGE_FAILURE_REASONS,
] as const;

/** Why a function's code does not serve, or not yet. */
export const CODE_REASONS = [
  'Building',
  'SourceNotReady',
  ...BUILD_FAILURE_REASONS,
  'LoadError',
  'RevisionNotFound',
  'Starting',
  'CrashLoop',
] as const;

/** Every reason that a condition or an event gives; `docs/reference/conditions.md` says what to do about each. */
export const REASONS = [
  'Ready',
  'Deleting',
  'Disabled',
  'Expired',
  'Invalid',
  'Accepted',
  'RouteConflict',
  'KeyGroupNotFound',
  'DuplicateValue',
  'DuplicateName',
  'OwnerNotFound',
  'Built',
  'Pinned',
  ...CODE_REASONS,
  'MinimumReplicasAvailable',
  'Stored',
  'NoFiles',
  'TreeNotFound',
  'NotSupported',
  'DecryptionFailed',
  'SecretNotFound',
  'SecretKeyNotFound',
  'SecretRefused',
] as const;
export type Reason = (typeof REASONS)[number];

/**
 * Reasons that go away without a change of the object itself: work is in progress, is retried, or begins as soon as
 * something that the object names exists.
 */
const PASSING: ReadonlySet<Reason> = new Set<Reason>([
  'Deleting',
  'Building',
  'Starting',
  'SourceNotFound',
  'SourceNotReady',
  'HandlerNotFound',
  'KeyGroupNotFound',
  'OwnerNotFound',
  'NoFiles',
  'TreeNotFound',
  'SecretNotFound',
  'SecretKeyNotFound',
  'PackageCorrupt',
  'RegistryUnavailable',
  'InstallTimeout',
  'InstallFailed',
]);

/** A condition as a reconciler decides it; time and generation are the wrapper's. */
export interface ConditionDecision {
  type: ConditionType;
  status: 'True' | 'False' | 'Unknown';
  reason: Reason;
  message: string;
}

const MESSAGE_LIMIT = 4096;

/**
 * Puts decisions into a list of conditions; `lastTransitionTime` moves only where `status` does. With `Ready` come
 * `Reconciling`, `Stalled` and `Degraded`, which are there only while they are true.
 * @returns the same array when nothing differs, so that nothing is written.
 */
export function setConditions(
  current: Condition[] | undefined,
  decisions: ConditionDecision[],
  at: { generation: number; now: number },
): Condition[] {
  const before = current ?? [];
  const ready = decisions.find(({ type }) => type === 'Ready');
  const all = ready === undefined ? decisions : [...decisions, ...progressOf(ready)];
  const replaced: string[] = [...all.map(({ type }) => type), ...(ready === undefined ? [] : WITH_READY)];
  const kept = before.filter(({ type }) => !replaced.includes(type));
  const next = all.map((decision) => transition(findCondition(before, decision.type), decision, at));
  const changed = kept.length + next.length !== before.length || next.some((condition) => !before.includes(condition));
  return changed ? [...kept, ...next].sort((a, b) => (a.type < b.type ? -1 : 1)) : before;
}

const PROGRESS = ['Reconciling', 'Stalled'] as const satisfies ConditionType[];
const WITH_READY: ConditionType[] = [...PROGRESS, 'Degraded'];

/** An object with a value that does not decrypt (E6), whatever else is to be said of it. */
export function degraded(problem: Pick<ConditionDecision, 'reason' | 'message'> | undefined): ConditionDecision[] {
  if (problem?.reason !== 'DecryptionFailed') return [];
  return [{ type: 'Degraded', status: 'True', ...problem }];
}

/** Whether the object is as its spec wants it: nothing is in progress, and nothing is wrong. */
export const isAsDesired = (reason: Reason): boolean =>
  reason === 'Ready' || reason === 'Stored' || reason === 'Disabled';

/** Which of the two goes with a reason of `Ready`; undefined for neither, since everything is as desired. */
export function progressType(reason: Reason): (typeof PROGRESS)[number] | undefined {
  if (isAsDesired(reason)) return undefined;
  return PASSING.has(reason) ? 'Reconciling' : 'Stalled';
}

/** What kstatus reads beside `Ready`: whether waiting helps, or a person must change the object. */
function progressOf({ status, reason, message }: ConditionDecision): ConditionDecision[] {
  const type = status === 'True' ? undefined : progressType(reason);
  return type === undefined ? [] : [{ type, status: 'True', reason, message }];
}

/** The condition of a type, if there is one. */
export function findCondition(conditions: Condition[] | undefined, type: ConditionType): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

function transition(
  before: Condition | undefined,
  decision: ConditionDecision,
  at: { generation: number; now: number },
): Condition {
  const message = decision.message.slice(0, MESSAGE_LIMIT);
  const same = before?.status === decision.status;
  const unchanged =
    same &&
    before.reason === decision.reason &&
    before.message === message &&
    before.observedGeneration === at.generation;
  if (unchanged) return before;
  return {
    ...decision,
    message,
    observedGeneration: at.generation,
    lastTransitionTime: same ? before.lastTransitionTime : new Date(at.now).toISOString(),
  };
}
