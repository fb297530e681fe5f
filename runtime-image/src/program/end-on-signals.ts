import process from 'node:process';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { onStopSignal } from '@wherry/service/on-stop-signal.ts';

/**
 * SIGTERM drains; one that comes more than a second later ends the instance at once.
 * @param farewell waits until what was sent is with the other side.
 */
export function endOnSignals(clock: Clock, drain: () => Promise<void>, farewell: () => Promise<void>): void {
  const end = (): void => {
    drain()
      .then(farewell)
      .then(
        () => process.exit(0),
        () => process.exit(1),
      );
  };
  onStopSignal(clock, end, ['SIGTERM']);
  // Ctrl-C reaches the whole group: the service, which gets it too, decides when its instances go.
  process.on('SIGINT', () => undefined);
}
