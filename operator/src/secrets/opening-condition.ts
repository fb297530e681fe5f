import { findCondition, setConditions, type ConditionDecision } from '@wherry/core/conditions.ts';
import type { Condition } from '@wherry/core/resources/meta.ts';
import type { ConfidentialReader, ValueProblem } from '@wherry/core/resources/confidential-reader.ts';
import type { Resource } from '@wherry/core/resources/kinds.ts';

type Sealed = Resource<'ApiKey'> | Resource<'FunctionSecret'>;

/** What is wrong with an object's value; undefined when it can be read. */
export function openingProblem(reader: ConfidentialReader, resource: Sealed): ValueProblem | undefined {
  if (resource.kind === 'ApiKey') return reader.read(resource, 'spec.value').problem;
  return reader.read(resource, 'spec.value').problem;
}

/**
 * An object's conditions with `Ready` saying whether its value can be read. While it can and always could nothing is
 * said: a hundred thousand good keys are a hundred thousand writes less.
 * @param always whether to say so even then.
 */
export function openingConditions(
  resource: Sealed,
  { problem, always, now }: { problem: ValueProblem | undefined; always: boolean; now: number },
): Condition[] | undefined {
  const { conditions } = resource.status;
  if (problem === undefined && !always && findCondition(conditions, 'Ready') === undefined) return conditions;
  const ready: ConditionDecision =
    problem === undefined
      ? { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
      : { type: 'Ready', status: 'False', ...problem };
  return setConditions(conditions, [ready], { generation: resource.metadata.generation, now });
}
