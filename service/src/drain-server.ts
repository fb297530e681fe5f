import type { Server } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';

const LOOK_MS = 50;

interface DrainOptions {
  clock: Clock;
  /** Milliseconds after which requests that still run are cut. */
  boundMs: number;
}

/**
 * Takes no new connection, lets running requests finish for a while, and cuts what is left.
 * @returns once every connection is closed.
 */
export async function drainServer(
  server: Pick<Server, 'close' | 'closeIdleConnections' | 'closeAllConnections'>,
  { clock, boundMs }: DrainOptions,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
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
