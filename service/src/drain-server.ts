import type { Server } from 'node:http';
import type { Server as NetServer } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';

const LOOK_MS = 50;

interface DrainOptions {
  clock: Clock;
  /** Milliseconds after which requests that still run are cut. */
  boundMs: number;
  /** Those that hand it connections of more sockets. */
  acceptors?: readonly NetServer[];
}

/**
 * Accepts no new connections, lets running requests finish for a while, and cuts the rest.
 * @returns once every connection is closed.
 */
export async function drainServer(
  server: Pick<Server, 'close' | 'closeIdleConnections' | 'closeAllConnections'>,
  { clock, boundMs, acceptors = [] }: DrainOptions,
): Promise<void> {
  const closed = Promise.all(
    [server, ...acceptors].map((one) => new Promise<void>((resolve) => one.close(() => resolve()))),
  );
  const cancelBound = clock.after(boundMs, () => server.closeAllConnections());
  let cancelLook = (): void => undefined;
  // Connections that are kept alive become idle one by one, as their requests end.
  const look = (): void => {
    server.closeIdleConnections();
    cancelLook = clock.after(LOOK_MS, look);
  };
  look();
  await closed;
  cancelBound();
  cancelLook();
}
