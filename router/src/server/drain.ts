import type { Server } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Connections } from './connections.ts';

const POLL_MS = 50;

export interface DrainOptions {
  /** Milliseconds in which it still accepts, telling callers to reconnect: for balancers that learn late. */
  lameDuckMs: number;
  /** Milliseconds after which calls that still run are cut. */
  boundMs: number;
}

/** Lets a server go without failing a call. @returns once every connection is closed. */
export async function drain(
  server: Server,
  connections: Connections,
  clock: Clock,
  options: DrainOptions,
): Promise<void> {
  connections.endAfterAnswers();
  if (options.lameDuckMs > 0) await clock.sleep(options.lameDuckMs);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const cancelBound = clock.after(options.boundMs, () => server.closeAllConnections());
  const cancelPoll = closeWhenIdle(server, clock);
  await closed;
  cancelBound();
  cancelPoll();
}

/** Connections whose answer had begun before the drain are kept alive by it; they close when they are idle. */
function closeWhenIdle(server: Server, clock: Clock): () => void {
  let cancel = (): void => undefined;
  const again = (): void => {
    server.closeIdleConnections();
    cancel = clock.after(POLL_MS, again);
  };
  again();
  return () => cancel();
}
