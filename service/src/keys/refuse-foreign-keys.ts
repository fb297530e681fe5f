import { ENCRYPTED_KINDS } from '@wherry/core/confidential/confidential-fields.ts';
import { fitsKeys } from '@wherry/core/confidential/reencrypt.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { findCondition } from '@wherry/core/resources/conditions.ts';
import { StartError } from '../start-error.ts';
import type { KeysPlace } from './keys-json.ts';

/**
 * Tries the encrypted values until one opens. Where none does, the keys are of other data: whatever is encrypted with
 * them would be lost once the right ones are back. A single value that does not open says nothing of the keys (E6, K5),
 * and an object that is Degraded already keeps nobody from starting again.
 * @throws StartError where values need other keys, and no value these (FT12).
 */
export async function refuseForeignKeys(
  store: Pick<ResourceStore, 'list'>,
  keyRing: KeyRing,
  { name, remedy }: KeysPlace,
): Promise<void> {
  const foreign: string[] = [];
  for (const kind of ENCRYPTED_KINDS) {
    const { items } = await store.list(kind);
    for (const item of items) {
      if (findCondition(item.status.conditions, 'Degraded') !== undefined) continue;
      const fits = fitsKeys(keyRing, item);
      if (fits === true) return;
      if (fits === false) foreign.push(`${kind} ${item.metadata.name}`);
    }
  }
  if (foreign.length === 0) return;
  throw new StartError(
    `${name} is of another installation or older than the data, of which it decrypts nothing (${foreign.length} objects tried, ${foreign[0]} first): ${remedy}`,
  );
}
