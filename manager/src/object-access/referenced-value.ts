import type { Confidential } from '@wherry/core/resources/confidential.ts';
import { refused } from '../http/validate.ts';

/**
 * Refuses a new value for a field that refers to a Kubernetes Secret: it would silently replace the reference, which
 * would come back with the next sync of the object.
 */
export function refuseReferencedValue(current: { value: Confidential }, given: string | undefined): void {
  const reference = current.value.secretKeyRef;
  if (given === undefined || reference === undefined) return;
  const message = `comes from the Secret ${reference.name}, key ${reference.key}: change it there`;
  throw refused([{ path: 'value', message }]);
}
