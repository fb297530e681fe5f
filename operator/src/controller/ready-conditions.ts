import { degraded, setConditions, type ConditionDecision } from '@wherry/core/resources/conditions.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import type { Condition } from '@wherry/core/resources/meta.ts';

/** Why an object is not Ready. */
export type Problem = Pick<ConditionDecision, 'reason' | 'message'>;

/** Why an object is not Ready that is deleted, but is held by its finalizers. */
export function deletingProblem({ kind, metadata }: Resource): Problem | undefined {
  const { name, deletionTimestamp, finalizers = [] } = metadata;
  if (deletionTimestamp === undefined) return undefined;
  return {
    reason: 'Deleting',
    message: `The ${kind} ${name} is being deleted: it is gone once its finalizers are removed (${finalizers.join(', ')}).`,
  };
}

/**
 * The conditions of an object about which there is nothing to say but whether it is Ready, and whether its values
 * decrypt.
 * @param unread why its value cannot be read, whether or not that is the problem of Ready.
 */
export function readyConditions(
  resource: Resource<Exclude<Kind, 'Function'>>,
  found: Problem | undefined,
  now: number,
  unread?: Problem,
): Condition[] {
  const { status, metadata } = resource;
  const problem = deletingProblem(resource) ?? found;
  const ready: ConditionDecision =
    problem === undefined
      ? { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
      : { type: 'Ready', status: 'False', ...problem };
  return setConditions(status.conditions, [ready, ...degraded(unread)], { generation: metadata.generation, now });
}
