import type { Worker } from 'node:worker_threads';
import { DomainError } from '@wherry/core/errors.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ThreadReply, ThreadRequest } from './serve-databases.ts';

interface DatabaseOptions {
  /** Its name in messages: `log`. */
  name: string;
  logger: Logger;
  /** The consequence when the thread ends by itself, for the log: `logs are lost until the program is restarted`. */
  consequence: string;
}

/** A database that a thread has opened. */
export interface ThreadDatabase<O> {
  /** Where a damaged file went. */
  readonly setAside: string | undefined;
  /** Whether its thread ended by itself. */
  isGone(): boolean;
  /** @throws DomainError `unavailable` where the database refuses, or the thread is gone; the log says why. */
  call(operation: O): Promise<unknown>;
  /** Closes it after all operations that were sent. May be called again. */
  close(): Promise<void>;
}

/** Without the id, which `#send` adds. */
type Unsent = ThreadRequest extends infer R ? (R extends object ? Omit<R, 'id'> : never) : never;

/**
 * A worker thread that owns databases, because node:sqlite is synchronous: sends operations there (`serveDatabases`
 * runs them) and returns their results. It ends with the last of its databases.
 */
export class DatabaseThread {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  readonly #databases = new Map<number, DatabaseOptions>();
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  /** Why it no longer answers. */
  #end: Error | undefined;

  /** @param worker one that calls `serveDatabases`. */
  constructor(worker: Worker) {
    this.#worker = worker;
    const exited = Promise.withResolvers<unknown>();
    this.#exited = exited.promise;
    worker.on('message', (reply: ThreadReply) => this.#answered(reply));
    worker.on('error', (error: Error) => this.#fail(error));
    worker.on('exit', (code) => {
      this.#fail(new Error(`the thread ended with code ${code}`));
      exited.resolve(code);
    });
  }

  /**
   * Opens a database. The first ones are opened together: a thread whose only database cannot be opened has ended.
   * @param kind as the worker names it.
   * @param data what its opener needs; it is cloned.
   * @throws Error when the thread cannot open it.
   */
  async open<O>(kind: string, data: unknown, options: DatabaseOptions): Promise<ThreadDatabase<O>> {
    const database = (this.#lastId += 1);
    this.#databases.set(database, options);
    try {
      const { setAside } = (await this.#send({ database, open: kind, data })) as { setAside: string | undefined };
      return this.#opened(database, setAside, options);
    } catch (error) {
      await this.#leave(database);
      throw error;
    }
  }

  #opened<O>(database: number, setAside: string | undefined, options: DatabaseOptions): ThreadDatabase<O> {
    const { name, logger } = options;
    const close = async (): Promise<void> => {
      await this.#send({ database, close: true }).catch(() => undefined);
      await this.#leave(database);
    };
    let closed: Promise<void> | undefined;
    return {
      setAside,
      isGone: () => this.#end !== undefined,
      call: async (operation) => {
        try {
          return await this.#send({ database, operation });
        } catch (error) {
          if (this.#end === undefined) logger.warn({ err: error }, `the ${name} database refused an operation`);
          throw new DomainError('unavailable', `The ${name} database is not available.`);
        }
      },
      close: () => (closed ??= close()),
    };
  }

  /** The last database takes its thread with it. */
  async #leave(database: number): Promise<void> {
    this.#databases.delete(database);
    if (this.#databases.size > 0) return;
    // It ends by itself after what it does now: terminating it inside native code is dangerous.
    if (this.#end === undefined) this.#worker.postMessage('end' satisfies ThreadRequest);
    await this.#exited;
  }

  #send(request: Unsent): Promise<unknown> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = (this.#lastId += 1);
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(id, call);
    this.#worker.postMessage({ ...request, id });
    return call.promise;
  }

  #answered(reply: ThreadReply): void {
    const call = this.#calls.get(reply.id);
    this.#calls.delete(reply.id);
    if ('result' in reply) call?.resolve(reply.result);
    else call?.reject(new Error(reply.error));
  }

  /** The thread is gone: rejects everything that waits for it. */
  #fail(error: Error): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    for (const { name, consequence, logger } of this.#databases.values())
      logger.error({ err: error }, `the thread of the ${name} database ended: ${consequence}`);
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }
}
