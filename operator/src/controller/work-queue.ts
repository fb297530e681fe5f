import type { Clock } from '@wherry/core/ports/clock.ts';
import { KeyLine } from './key-line.ts';

interface WorkQueueOptions {
  clock: Clock;
  /** How many keys are worked on at once. */
  concurrency: number;
  /** Works on one key. It must not reject; it returns how long to wait before the key runs again. */
  work: (key: string) => Promise<number | undefined>;
}

/** Keys to be worked on: each waits once, however often it is added, and is never worked on twice at once. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new KeyLine();
  readonly #running = new Map<string, Promise<void>>();
  /** Added while they ran. */
  readonly #again = new Set<string>();
  /** How to cancel the delay of a key. */
  readonly #delayed = new Map<string, () => void>();
  #cancelPump: (() => void) | undefined;
  #idlers: (() => void)[] = [];
  #state: 'new' | 'started' | 'stopped' = 'new';

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Runs the key soon; once more after it when it is running now. Forgets a delay of the key. */
  add(key: string): void {
    if (this.#state === 'stopped') return;
    this.#delayed.get(key)?.();
    this.#delayed.delete(key);
    if (this.#running.has(key)) this.#again.add(key);
    else this.#waiting.push(key);
    this.#pumpSoon();
  }

  /** No key runs before this is called. */
  start(): void {
    if (this.#state === 'new') this.#state = 'started';
    this.#pump();
  }

  /** Starts no more keys; resolves when the running ones have ended. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#cancelPump?.();
    for (const cancel of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#waiting.clear();
    this.#again.clear();
    await Promise.all(this.#running.values());
    this.#resolveIdle();
  }

  /** Resolves when no key runs or waits for its turn; delayed keys do not count. */
  idle(): Promise<void> {
    if (this.#running.size === 0 && this.#waiting.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idlers.push(resolve));
  }

  /**
   * In a later turn of the event loop: routers get a change before a reconcile's writes could delay it, and a long
   * queue of keys leaves time for everything else.
   */
  #pumpSoon(): void {
    if (this.#state !== 'started') return;
    this.#cancelPump ??= this.#options.clock.after(0, () => {
      this.#cancelPump = undefined;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#state !== 'started') return;
    while (this.#running.size < this.#options.concurrency) {
      const key = this.#waiting.shift();
      if (key === undefined) return;
      this.#running.set(key, this.#run(key));
    }
  }

  async #run(key: string): Promise<void> {
    const delay = await this.#options.work(key);
    this.#running.delete(key);
    if (this.#again.delete(key)) this.#waiting.push(key);
    else if (delay !== undefined && this.#state === 'started') this.#schedule(key, delay);
    this.#pumpSoon();
    this.#resolveIdle();
  }

  #schedule(key: string, ms: number): void {
    const cancel = this.#options.clock.after(ms, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, cancel);
  }

  #resolveIdle(): void {
    if (this.#running.size > 0 || this.#waiting.size > 0) return;
    const idlers = this.#idlers;
    this.#idlers = [];
    for (const resolve of idlers) resolve();
  }
}
