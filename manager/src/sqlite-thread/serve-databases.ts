import { parentPort } from 'node:worker_threads';

/**
 * To the thread: each is answered once, in order. `database` is a number that the other side chooses. `end` comes last,
 * when all databases are closed, and has no answer.
 */
export type ThreadRequest =
  | { id: number; database: number; open: string; data: unknown }
  | { id: number; database: number; operation: unknown }
  | { id: number; database: number; close: true }
  | 'end';

/** From the thread. */
export type ThreadReply = { id: number; result: unknown } | { id: number; error: string };

export interface ServedDatabase<O> {
  /** Where a damaged file went. */
  setAside: string | undefined;
  /** Runs one operation; its result is cloned. Errors go to the caller. */
  run: (operation: O) => unknown;
  close: () => void;
}

/** A database that is open, with what runs its operations. @param setAside where a damaged file went. */
export function served<D extends { close: () => void }, O>(
  database: D,
  run: (database: D, operation: O) => unknown,
  setAside?: string,
): ServedDatabase<O> {
  return { setAside, run: (operation) => run(database, operation), close: () => database.close() };
}

/** Opens a database of one kind. */
type Opener = (data: never) => ServedDatabase<never>;

/**
 * The thread's side of a `DatabaseThread`: runs the operations of all its databases one after the other.
 * @param openers of the kinds of databases that the thread may have, by their names.
 */
export function serveDatabases(openers: Readonly<Record<string, Opener>>): void {
  const port = parentPort;
  if (port === null) throw new Error('databases are served by a worker thread only');
  const databases = new Map<number, ServedDatabase<never>>();

  const open = (database: number, kind: string, data: unknown): { setAside: string | undefined } => {
    const opener = openers[kind];
    if (opener === undefined) throw new Error(`this thread has no databases of the kind ${kind}`);
    const opened = opener(data as never);
    databases.set(database, opened);
    return { setAside: opened.setAside };
  };
  const work = (request: Exclude<ThreadRequest, 'end'>): unknown => {
    if ('open' in request) return open(request.database, request.open, request.data);
    const database = databases.get(request.database);
    if ('operation' in request) return database?.run(request.operation as never);
    databases.delete(request.database);
    database?.close();
    return null;
  };

  port.on('message', (request: ThreadRequest) => {
    // Without its port, nothing keeps the thread alive.
    if (request === 'end') port.close();
    else port.postMessage(answer(request.id, () => work(request)));
  });
}

function answer(id: number, work: () => unknown): ThreadReply {
  try {
    return { id, result: work() };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}
