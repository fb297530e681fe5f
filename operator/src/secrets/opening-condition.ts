import { setConditions, type ConditionDecision } from '@wherry/core/conditions.ts';
import type { Condition } from '@wherry/core/resources/meta.ts';
import type { ConfidentialReader, ValueProblem } from '@wherry/core/resources/confidential-reader.ts';
import type { Resource } from '@wherry/core/resources/kinds.ts';

type Sealed = Resource<'ApiKey'> | Resource<'FunctionSecret'>;

/** What is wrong with an object's value; undefined when it can be read. */
export function openingProblem(reader: ConfidentialReader, resource: Sealed): ValueProblem | undefined {
  if (resource.kind === 'ApiKey') return reader.read(resource, 'spec.value').problem;
  return reader.read(resource, 'spec.value').problem;
}

/** What keeps an object from being as it is written. */
export type Problem = Pick<ConditionDecision, 'reason' | 'message'>;

/** An object's conditions, with `Ready` saying whether anything keeps its value from those who may have it. */
export function openingConditions(resource: Sealed, problem: Problem | undefined, now: number): Condition[] {
  const ready: ConditionDecision =
    problem === undefined
      ? { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
      : { type: 'Ready', status: 'False', ...problem };
  return setConditions(resource.status.conditions, [ready], { generation: resource.metadata.generation, now });
}
