import { AsyncLocalStorage } from 'node:async_hooks';
import type { InvocationContext } from '@wherry/core/feed/invocation.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';

/** The call that the running code belongs to. */
export const currentCall = new AsyncLocalStorage<Call>();

interface CallOptions {
  context: InvocationContext;
  clock: Clock;
  /** Receives the reason with which a `waitUntil` promise was rejected. */
  onWaitFailure(error: unknown, call: Call): void;
  /** Called once, when nothing of the call is left: the answer went out (or never will) and `waitUntil` is done. */
  onEnd(): void;
}

/** One call, from its arrival to the end of its last `waitUntil`. */
export class Call {
  readonly context: InvocationContext;
  /** Number of its last log entry. */
  sequence = 0;
  readonly #options: CallOptions;
  #controller: AbortController | undefined;
  #abortReason: unknown;
  #aborted = false;
  /** The answer, and each promise of `waitUntil`. */
  #open = 1;
  #ended = false;
  #cancelTimeout: (() => void) | undefined;

  constructor(options: CallOptions) {
    this.#options = options;
    this.context = options.context;
  }

  /** Created on demand: most handlers never use it, and an EventTarget costs more than an answer. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get ended(): boolean {
    return this.#ended;
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  /** What is left of the timeout, in milliseconds; 0 when it is over. */
  remainingTimeMs(): number {
    const { requestedAt, timeoutMs } = this.context;
    return Math.max(0, requestedAt + timeoutMs - this.#options.clock.now());
  }

  waitUntil(promise: unknown): void {
    this.#open += 1;
    Promise.resolve(promise).then(
      () => this.#closeOne(),
      (error: unknown) => {
        this.#options.onWaitFailure(error, this);
        this.#closeOne();
      },
    );
  }

  /** The answer has been sent, or never will be. */
  answered(): void {
    this.#closeOne();
  }

  /** Ends it whatever still runs. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelTimeout?.();
    this.#options.onEnd();
  }

  /** How to cancel what waits for its timeout. */
  onceEnded(cancelTimeout: () => void): void {
    this.#cancelTimeout = cancelTimeout;
  }

  #closeOne(): void {
    this.#open -= 1;
    if (this.#open === 0) this.end();
  }
}
