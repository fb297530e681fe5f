import type { Worker } from 'node:worker_threads';
import { DomainError } from '@wherry/core/errors.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ThreadReply } from './serve-database.ts';

interface DatabaseThreadOptions {
  /** Its name in messages: `log`. */
  name: string;
  logger: Logger;
  /** The consequence when the thread ends by itself, for the log: `logs are lost until the program is restarted`. */
  consequence: string;
}

/**
 * A database in a worker thread, because node:sqlite is synchronous: sends operations there (`serveDatabase` runs them)
 * and returns their results.
 */
export class DatabaseThread<O> {
  /** Resolves once the database is open, with the path of a damaged file that was set aside. */
  readonly ready: Promise<{ setAside: string | undefined }>;
  readonly #worker: Worker;
  readonly #options: DatabaseThreadOptions;
  readonly #exited: Promise<undefined>;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #isClosing = false;
  /** The thread no longer answers. */
  #isGone = false;

  constructor(worker: Worker, options: DatabaseThreadOptions) {
    this.#worker = worker;
    this.#options = options;
    const ready = Promise.withResolvers<{ setAside: string | undefined }>();
    this.ready = ready.promise;
    ready.promise.catch(() => undefined);
    const exited = Promise.withResolvers<undefined>();
    this.#exited = exited.promise;
    worker.on('message', (reply: ThreadReply) => {
      if ('ready' in reply) ready.resolve({ setAside: reply.setAside });
      else this.#answered(reply);
    });
    worker.on('error', (error) => {
      ready.reject(error);
      this.#end(error);
    });
    worker.on('exit', () => {
      this.#end(new Error(`the thread of the ${options.name} database has ended`));
      exited.resolve(undefined);
    });
  }

  /** Whether it ended, by itself or not. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** @throws DomainError `unavailable` where the database refuses, or the thread is gone; the log says why. */
  async call(operation: O | { operation: 'close' }): Promise<unknown> {
    if (this.#isGone) throw this.#unavailable();
    this.#lastId += 1;
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(this.#lastId, call);
    this.#worker.postMessage({ ...operation, id: this.#lastId });
    return call.promise;
  }

  /** Closes the database after all operations that were sent. May be called again. */
  async close(): Promise<void> {
    const isFirst = !this.#isClosing;
    this.#isClosing = true;
    // The thread ends by itself after its answer: terminating it inside native code is dangerous.
    if (isFirst) await this.call({ operation: 'close' }).catch(() => undefined);
    await this.#exited;
  }

  #answered(reply: Exclude<ThreadReply, { ready: true }>): void {
    const call = this.#calls.get(reply.id);
    this.#calls.delete(reply.id);
    if ('result' in reply) {
      call?.resolve(reply.result);
      return;
    }
    this.#options.logger.warn({ err: reply.error }, `the ${this.#options.name} database refused an operation`);
    call?.reject(this.#unavailable());
  }

  /** The thread is gone: rejects everything that waits for it. */
  #end(error: unknown): void {
    const { name, consequence, logger } = this.#options;
    if (!this.#isClosing && !this.#isGone)
      logger.error({ err: error }, `the thread of the ${name} database ended: ${consequence}`);
    this.#isGone = true;
    for (const call of this.#calls.values()) call.reject(this.#unavailable());
    this.#calls.clear();
  }

  #unavailable(): DomainError {
    return new DomainError('unavailable', `The ${this.#options.name} database is not available.`);
  }
}
