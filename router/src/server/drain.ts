import type { Server } from 'node:http';
import type { Server as NetServer } from 'node:net';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { drainServer } from '@wherry/service/drain-server.ts';
import type { Connections } from './connections.ts';

export interface DrainOptions {
  /** Those that hand the server connections of more sockets. */
  acceptors?: readonly NetServer[];
  /** Milliseconds in which it still accepts calls, and makes callers reconnect, for load balancers that notice late. */
  lameDuckMs: number;
  /** Milliseconds after which calls that still run are cut. */
  boundMs: number;
}

/** Shuts a server down without failing a call. @returns once every connection is closed. */
export async function drain(
  server: Server,
  connections: Connections,
  clock: Clock,
  options: DrainOptions,
): Promise<void> {
  connections.endAfterAnswers();
  if (options.lameDuckMs > 0) await clock.sleep(options.lameDuckMs);
  await drainServer(server, { ...options, clock });
}
