import { isEnvelopeError } from '@wherry/core/crypto/envelope-error.ts';
import { findCondition, setConditions, type ConditionDecision } from '@wherry/core/conditions.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Condition } from '@wherry/core/resources/meta.ts';
import { openConfidential } from '@wherry/core/resources/confidential-fields.ts';
import type { Resource } from '@wherry/core/resources/kinds.ts';

type Sealed = Resource<'ApiKey'> | Resource<'FunctionSecret'>;

/** What is wrong with an object's encrypted value; undefined when it opens. */
export function openingProblem(keyRing: KeyRing, resource: Sealed): string | undefined {
  try {
    if (resource.kind === 'ApiKey') openConfidential(keyRing, resource, 'spec.value');
    else openConfidential(keyRing, resource, 'spec.value');
    return undefined;
  } catch (error) {
    if (isEnvelopeError(error)) return `${error.message} Write spec.value again, or bring back the encryption key.`;
    throw error;
  }
}

/**
 * An object's conditions with `Ready` saying whether its value opens. While it opens and always did nothing is said: a
 * hundred thousand good keys are a hundred thousand writes less.
 * @param always whether to say so even then.
 */
export function openingConditions(
  resource: Sealed,
  { problem, always, now }: { problem: string | undefined; always: boolean; now: number },
): Condition[] | undefined {
  const { conditions } = resource.status;
  if (problem === undefined && !always && findCondition(conditions, 'Ready') === undefined) return conditions;
  const ready: ConditionDecision =
    problem === undefined
      ? { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
      : { type: 'Ready', status: 'False', reason: 'DecryptionFailed', message: problem };
  return setConditions(conditions, [ready], { generation: resource.metadata.generation, now });
}
