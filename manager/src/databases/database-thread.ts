import type { Worker } from 'node:worker_threads';
import { DomainError } from '@wherry/core/errors.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ThreadReply } from './thread-messages.ts';

interface DatabaseThreadOptions {
  /** What it is called in sentences: `log`. */
  name: string;
  logger: Logger;
  /** What comes of it when the thread ends by itself, for the log: `logs are lost until a restart`. */
  consequence: string;
}

/**
 * A database in a worker thread, for node:sqlite is synchronous: sends operations there (`serveDatabase` does them) and
 * gives their results.
 */
export class DatabaseThread<O> {
  /** Resolves once the database is open, with where a damaged file went. */
  readonly ready: Promise<{ setAside: string | undefined }>;
  readonly #worker: Worker;
  readonly #options: DatabaseThreadOptions;
  readonly #exited: Promise<undefined>;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #isClosing = false;
  /** The thread answers nothing any more. */
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

  /** Closes the database after all that was sent. Harmless a second time. */
  async close(): Promise<void> {
    const isFirst = !this.#isClosing;
    this.#isClosing = true;
    // The thread ends by itself after its answer: to terminate one inside native code is dangerous.
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
    this.#options.logger.warn({ err: reply.error }, `the ${this.#options.name} database refused`);
    call?.reject(this.#unavailable());
  }

  /** The thread is gone: nobody waits for it any more. */
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
