import type { Clock } from '@wherry/core/ports/clock.ts';
import { networkOf } from '@wherry/service/network-of.ts';
import { ThrottledError } from '../http/throttled-error.ts';
import { emailKey } from '../users/user-record.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/** Failures that stop further attempts, attempts of one address that may run, and how an error names these. */
interface SignInLimit {
  maxFailures: number;
  maxAtOnce: number;
  what: string;
}
const OF_ACCOUNT: SignInLimit = {
  maxFailures: MANAGER_LIMITS.signInFailures,
  maxAtOnce: MANAGER_LIMITS.signInsAtOnce,
  what: 'Sign-in to this account',
};
/** How many pairs of account and address are remembered; beyond it the oldest one is forgotten. */
const MAX_PAIRS = 50_000;

interface Failures {
  startedAt: number;
  count: number;
}

/**
 * Counts failed sign-ins by account and address (M2). Whoever guesses is stopped where they are; the account stays open
 * to every other address, so nobody can lock its user out.
 */
export class SignInThrottle {
  readonly #clock: Clock;
  readonly #limit: SignInLimit;
  readonly #failures = new Map<string, Failures>();
  readonly #pending = new Map<string, number>();

  constructor(clock: Clock, limit = OF_ACCOUNT) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /**
   * Runs an attempt. It counts as failed from its start on, so that attempts side by side are counted as well.
   * @param email of the account; empty where it is not known before.
   * @returns what the attempt returns: undefined for a wrong password.
   * @throws ThrottledError without running it, after too many failures or while too many are pending.
   */
  async attempt<T>(email: string, address: string, attempt: () => Promise<T | undefined>): Promise<T | undefined> {
    const network = networkOf(address);
    const pending = this.#pending.get(network) ?? 0;
    if (pending >= this.#limit.maxAtOnce)
      throw new ThrottledError('Too many sign-ins from this address are running; try again in a moment.', 1);
    const pair = `${network} ${emailKey(email)}`;
    const known = this.#failuresOf(pair);
    if (known !== undefined && known.count >= this.#limit.maxFailures) {
      const seconds = Math.max(
        1,
        Math.ceil((known.startedAt + MANAGER_LIMITS.signInWindowMs - this.#clock.monotonic()) / 1000),
      );
      throw new ThrottledError(
        `${this.#limit.what} failed ${this.#limit.maxFailures} times from this address. The Retry-After header says when to try again.`,
        seconds,
      );
    }
    // Only an attempt that runs takes a place: refused ones are too cheap to push out what is remembered.
    const failures = known ?? this.#remember(pair);
    failures.count += 1;
    this.#pending.set(network, pending + 1);
    try {
      const result = await attempt();
      if (result !== undefined) this.#failures.delete(pair);
      return result;
    } catch (error) {
      // No wrong password, but a fault of ours.
      failures.count -= 1;
      throw error;
    } finally {
      const left = (this.#pending.get(network) ?? 1) - 1;
      if (left === 0) this.#pending.delete(network);
      else this.#pending.set(network, left);
    }
  }

  /** Undefined where there were none in the window. */
  #failuresOf(pair: string): Failures | undefined {
    const known = this.#failures.get(pair);
    return known !== undefined && this.#clock.monotonic() - known.startedAt < MANAGER_LIMITS.signInWindowMs
      ? known
      : undefined;
  }

  #remember(pair: string): Failures {
    this.#failures.delete(pair);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size >= MAX_PAIRS && oldest !== undefined) this.#failures.delete(oldest);
    const failures = { startedAt: this.#clock.monotonic(), count: 0 };
    this.#failures.set(pair, failures);
    return failures;
  }
}
