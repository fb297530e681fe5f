import { isEnvelopeError, type EnvelopeError } from '../crypto/envelope-error.ts';
import { envelopeVersion } from '../crypto/envelope.ts';
import type { KeyRing } from '../ports/key-ring.ts';
import type { Confidential } from '../resources/confidential.ts';
import type { Kind, Resource } from '../resources/kinds.ts';
import {
  confidentialValues,
  openConfidential,
  sealConfidential,
  withConfidential,
  type ConfidentialField,
} from './confidential-fields.ts';

/** The encrypted fields of an object whose envelope was not made with the ring's current key, or is not an envelope. */
export function staleFields<K extends Kind>(keyRing: KeyRing, resource: Resource<K>): ConfidentialField<K>[] {
  const { version } = keyRing.current();
  return confidentialValues(resource).flatMap(({ field, value: { encrypted } }) =>
    encrypted === undefined || versionOf(encrypted) === version ? [] : [field],
  );
}

/** How many values an object holds in envelopes. */
export function countEncrypted(resource: Resource): number {
  return confidentialValues(resource).filter(({ value }) => value.encrypted !== undefined).length;
}

/** A field that does not decrypt, and why: without any part of the value (E3). */
interface Unopened<K extends Kind> {
  field: ConfidentialField<K>;
  error: EnvelopeError;
}

/**
 * Encrypts every stale field again with the current key. Fields that do not decrypt stay as they are (E6).
 * @returns a copy, and the same object where nothing could be changed.
 */
export function reencrypt<K extends Kind>(
  keyRing: KeyRing,
  resource: Resource<K>,
): { resource: Resource<K>; unopened: Unopened<K>[] } {
  let next = resource;
  const unopened: Unopened<K>[] = [];
  for (const field of staleFields(keyRing, resource)) {
    try {
      const plaintext = openConfidential(keyRing, resource, field);
      next = withConfidential(next, field, sealConfidential(keyRing, resource, field, plaintext));
    } catch (error) {
      if (!isEnvelopeError(error)) throw error;
      unopened.push({ field, error });
    }
  }
  return { resource: next, unopened };
}

/** Whether a value can be read only with this version of the key. */
export function envelopeNeeds({ encrypted }: Confidential, version: number): boolean {
  return encrypted !== undefined && versionOf(encrypted) === version;
}

/**
 * Whether the ring decrypts one of the object's encrypted values. Undefined where that says nothing of the ring: the
 * object has none, or only values that no key decrypts, damaged or made by a newer version.
 */
export function fitsKeys(keyRing: KeyRing, resource: Resource): boolean | undefined {
  const fits = confidentialValues(resource).flatMap(({ field, value }) =>
    value.encrypted === undefined ? [] : [fitsField(keyRing, resource, field)],
  );
  return fits.find((fit) => fit === true) ?? fits.find((fit) => fit !== undefined);
}

function fitsField(keyRing: KeyRing, resource: Resource, field: ConfidentialField): boolean | undefined {
  try {
    openConfidential(keyRing, resource, field);
    return true;
  } catch (error) {
    if (!isEnvelopeError(error)) throw error;
    return error.code === 'unknown_key' || error.code === 'not_authentic' ? false : undefined;
  }
}

function versionOf(envelope: string): number | undefined {
  try {
    return envelopeVersion(envelope);
  } catch (error) {
    if (!isEnvelopeError(error)) throw error;
    return undefined;
  }
}
