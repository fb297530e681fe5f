import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Machine } from './machine.ts';

/** An existing Service answers at once, or refuses at once when it has no pods. */
const PATIENCE_MS = 1500;

/**
 * Connects to a Service at the address that it has. A Service that was created again has a different one: where nothing
 * answers, it is looked up again, and whichever answers first counts. On a busy machine that may be the first one; and
 * while the API server is not available, no lookup ends.
 * @param lookUp the Service's address
 * @param host the address, where it is known already
 */
export function followService(
  connect: Machine['connect'],
  lookUp: () => Promise<string>,
  port: number,
  host?: string,
): () => Promise<Socket> {
  let current = host;
  let looking: Promise<string> | undefined;
  const look = (): Promise<string> => {
    looking ??= lookUp()
      .then((found) => (current = found))
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };
  return async () => {
    const known = current ?? (await look());
    const first = connect({ host: known, port });
    const soon = await Promise.race([first, delay(PATIENCE_MS, undefined)]).catch(() => undefined);
    if (soon !== undefined) return soon;
    const second = look().then((now) => (now === known ? first : connect({ host: now, port })));
    const socket = await Promise.any([first, second]).catch(() => first);
    for (const late of [first, second])
      late.then(
        (other) => other !== socket && other.destroy(),
        () => undefined,
      );
    return socket;
  };
}
