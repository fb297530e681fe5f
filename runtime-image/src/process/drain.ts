import type { Server } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { RunningCalls } from '../call/running-calls.ts';

interface DrainOptions {
  clock: Clock;
  /** How long an instance still takes calls after SIGTERM: routers may not know it yet. */
  lameDuckMs: number;
}

/** Ends without failing a call: keeps answering for a while, then stops listening and finishes running calls. */
export async function drain(server: Server, running: RunningCalls, { clock, lameDuckMs }: DrainOptions): Promise<void> {
  running.draining = true;
  await clock.sleep(lameDuckMs);
  server.close();
  server.closeIdleConnections();
  await running.finished();
}
