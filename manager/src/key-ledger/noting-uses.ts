import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyLedger } from '@wherry/core/ports/key-ledger.ts';
import type { KeyAccess } from '../authentication/key-access.ts';

/** Authentication that takes down each use of a key. */
export function notingUses(
  authenticate: KeyAccess['authenticate'],
  { keyLedger, clock }: { keyLedger: KeyLedger; clock: Pick<Clock, 'now'> },
): KeyAccess['authenticate'] {
  return (request) => {
    const principal = authenticate(request);
    if (principal?.type === 'key') keyLedger.used({ [principal.id]: clock.now() });
    return principal;
  };
}
