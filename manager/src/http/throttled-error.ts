import { DomainError } from '@wherry/core/errors.ts';

/** A 429 that knows when it makes sense to try again. */
export class ThrottledError extends DomainError {
  /** Seconds. */
  readonly retryAfter: number;

  constructor(message: string, retryAfter: number) {
    super('throttled', message);
    this.retryAfter = retryAfter;
  }
}
