import { setConditions } from '@wherry/core/conditions.ts';
import type { Resource } from '@wherry/core/resources/kinds.ts';
import type { Condition } from '@wherry/core/resources/meta.ts';

/** The conditions of an object that is as it is written as soon as it is seen. */
export function wellConditions({ status, metadata }: Resource<'KeyGroup' | 'Settings'>, now: number): Condition[] {
  return setConditions(status.conditions, [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }], {
    generation: metadata.generation,
    now,
  });
}
