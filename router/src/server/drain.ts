import type { Server } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { drainServer } from '@wherry/service/drain-server.ts';
import type { Connections } from './connections.ts';

export interface DrainOptions {
  /** Milliseconds in which it still accepts, and has callers reconnect: for balancers that learn late. */
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
  await drainServer(server, { clock, boundMs: options.boundMs });
}
