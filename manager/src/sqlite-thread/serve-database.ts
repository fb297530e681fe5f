import { parentPort } from 'node:worker_threads';

/** To the thread of a database: each is answered once, in order. The last one is `close`. */
type ThreadRequest<O> = (O | { operation: 'close' }) & { id: number };

/** From the thread; `ready` comes first, once. */
export type ThreadReply =
  { id: number; result: unknown } | { id: number; error: string } | { ready: true; setAside: string | undefined };

export interface ServedDatabase<O> {
  /** Where a damaged file went. */
  setAside: string | undefined;
  /** Runs one operation; its result is cloned. Errors go to the caller. */
  run: (operation: O) => unknown;
  close: () => void;
}

/** The thread's side of a `DatabaseThread`: runs the operations one after the other, until the last one closes it. */
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
    // Once its port is closed, nothing keeps the thread alive.
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
