import { parentPort } from 'node:worker_threads';
import type { ThreadReply, ThreadRequest } from './thread-messages.ts';

export interface ServedDatabase<O> {
  /** Where a damaged file went. */
  setAside: string | undefined;
  /** Does one operation; its result is cloned. What it throws is the caller's. */
  run: (operation: O) => unknown;
  close: () => void;
}

/** The thread's side of a `DatabaseThread`: does what is sent, one after the other, until it is to close. */
export function serveDatabase<O>(open: () => ServedDatabase<O>): void {
  const port = parentPort;
  if (port === null) throw new Error('a database is served by a worker thread only');
  const database = open();

  const work = (request: ThreadRequest<O>): unknown => {
    if (!isClose(request)) return database.run(request);
    database.close();
    return null;
  };

  port.on('message', (request: ThreadRequest<O>) => {
    port.postMessage(answer(request.id, () => work(request)));
    // With its port closed nothing keeps the thread alive.
    if (isClose(request)) port.close();
  });
  port.postMessage({ ready: true, setAside: database.setAside } satisfies ThreadReply);
}

function isClose<O>(request: ThreadRequest<O>): request is { operation: 'close'; id: number } {
  return (request as { operation?: unknown }).operation === 'close';
}

function answer(id: number, work: () => unknown): ThreadReply {
  try {
    return { id, result: work() };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}
