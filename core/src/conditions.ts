import type { Condition } from './resources/meta.ts';

/** Condition types of all kinds; `docs/reference/conditions.md` says what each means. */
export const CONDITION_TYPES = ['Ready', 'RouteAccepted', 'CodeReady', 'Available', 'Syncing'] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** Every reason that a condition or an event gives; `docs/reference/conditions.md` says what to do about each. */
export const REASONS = [
  'Ready',
  'Disabled',
  'Invalid',
  'Accepted',
  'RouteConflict',
  'KeyGroupNotFound',
  'Building',
  'Built',
  'Pinned',
  'SourceNotFound',
  'SourceNotReady',
  'HandlerNotFound',
  'SyntaxError',
  'ImportNotFound',
  'ImportNotSupported',
  'ExportError',
  'LoadError',
  'BuildTimeout',
  'BuildOutOfMemory',
  'BuildTooLarge',
  'BuildFailed',
  'ManifestInvalid',
  'LockOutdated',
  'PackageNotFound',
  'PackageRefused',
  'PackageConflict',
  'PackageCorrupt',
  'PackageTooLarge',
  'RegistryUnavailable',
  'InstallTimeout',
  'InstallFailed',
  'RevisionNotFound',
  'Starting',
  'CrashLoop',
  'MinimumReplicasAvailable',
  'Stored',
  'TreeNotFound',
  'NotSupported',
  'DecryptionFailed',
  'SecretNotFound',
  'SecretKeyNotFound',
  'SecretRefused',
] as const;
export type Reason = (typeof REASONS)[number];

/** A condition as a reconciler decides it; time and generation are the wrapper's. */
export interface ConditionDecision {
  type: ConditionType;
  status: 'True' | 'False' | 'Unknown';
  reason: Reason;
  message: string;
}

const MESSAGE_LIMIT = 4096;

/**
 * Puts decisions into a list of conditions; `lastTransitionTime` moves only where `status` does.
 * @returns the same array when nothing differs, so that no write follows.
 */
export function setConditions(
  current: Condition[] | undefined,
  decisions: ConditionDecision[],
  at: { generation: number; now: number },
): Condition[] {
  const before = current ?? [];
  const kept = before.filter((condition) => !decisions.some((decision) => decision.type === condition.type));
  const next = decisions.map((decision) => transition(findCondition(before, decision.type), decision, at));
  const changed = next.some((condition) => !before.includes(condition));
  return changed ? [...kept, ...next].sort((a, b) => (a.type < b.type ? -1 : 1)) : before;
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
    same && before.reason === decision.reason && before.message === message && before.observedGeneration === at.generation;
  if (unchanged) return before;
  return {
    ...decision,
    message,
    observedGeneration: at.generation,
    lastTransitionTime: same ? before.lastTransitionTime : new Date(at.now).toISOString(),
  };
}
