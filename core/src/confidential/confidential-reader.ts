import { isEnvelopeError } from '../crypto/envelope-error.ts';
import { keyValueSchema } from '../crypto/key-value.ts';
import type { KeyRing } from '../ports/key-ring.ts';
import { NO_REFERENCED_SECRETS, type ReferencedSecrets } from '../ports/referenced-secrets.ts';
import type { Confidential } from '../resources/confidential.ts';
import { confidentialValues, openConfidential, type ConfidentialField } from './confidential-fields.ts';
import type { Kind, Resource } from '../resources/kinds.ts';

/** Why a confidential value cannot be read, as a condition says it. The message holds nothing of the value. */
interface ValueProblem {
  reason: 'DecryptionFailed' | 'SecretNotFound' | 'SecretKeyNotFound' | 'SecretRefused' | 'Invalid';
  message: string;
}

type ValueRead = { value: string; problem?: never } | { value?: never; problem: ValueProblem };

/** Reads confidential fields, whichever form they have: an envelope in the object, or a reference to a Secret. */
export interface ConfidentialReader {
  /** Never throws because of the content of an object or a Secret: that is a problem to report. */
  read<K extends Kind>(resource: Resource<K>, field: ConfidentialField<K>): ValueRead;
}

type Reference = NonNullable<Confidential['secretKeyRef']>;

export function createConfidentialReader(keyRing: KeyRing, secrets: ReferencedSecrets): ConfidentialReader {
  return {
    read(resource, field) {
      const reference = confidentialValues(resource).find((held) => held.field === field)?.value.secretKeyRef;
      if (reference === undefined) return openEnvelope(keyRing, resource, field);
      const read = follow(secrets, reference, field);
      return resource.kind === 'ApiKey' && read.value !== undefined ? asKeyValue(read.value, reference, field) : read;
    },
  };
}

function openEnvelope<K extends Kind>(keyRing: KeyRing, resource: Resource<K>, field: ConfidentialField<K>): ValueRead {
  try {
    return { value: openConfidential(keyRing, resource, field) };
  } catch (error) {
    if (!isEnvelopeError(error)) throw error;
    return problem('DecryptionFailed', `${error.message} Write ${field} again, or restore the encryption key.`);
  }
}

function follow(secrets: ReferencedSecrets, { name, key }: Reference, field: string): ValueRead {
  if (secrets === NO_REFERENCED_SECRETS) {
    return problem(
      'SecretNotFound',
      `${field} refers to the Secret "${name}", but Secrets exist only on Kubernetes: write the value itself.`,
    );
  }
  const secret = secrets.get(name);
  if (secret === undefined) {
    return problem(
      'SecretNotFound',
      `${field} refers to the Secret "${name}", which does not exist: create it in the namespace of this object, with the key "${key}".`,
    );
  }
  if (secret.refused !== undefined) {
    return problem(
      'SecretRefused',
      `${field} refers to the Secret "${name}", ${secret.refused}: name a Secret that holds the value for this field.`,
    );
  }
  const value = secret.data.get(key);
  if (value === undefined || value === '') {
    const what = value === '' ? 'is empty' : 'does not exist';
    return problem(
      'SecretKeyNotFound',
      `${field} refers to the key "${key}" of the Secret "${name}", which ${what}: set it there, or fix the reference.`,
    );
  }
  return { value };
}

/**
 * A Secret is not checked when it is written. A short key could be guessed, and one with a line break would never
 * match.
 */
function asKeyValue(value: string, { name, key }: Reference, field: string): ValueRead {
  if (keyValueSchema.safeParse(value).success) return { value };
  const message = `The key "${key}" of the Secret "${name}", to which ${field} refers, is not a valid key value: it must be 16 to 256 letters, digits, dashes and underscores, without a trailing line break.`;
  return problem('Invalid', message);
}

function problem(reason: ValueProblem['reason'], message: string): ValueRead {
  return { problem: { reason, message } };
}
