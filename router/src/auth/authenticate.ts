import type { RouterKey } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { BadKeyThrottle } from '@wherry/service/bad-key-throttle.ts';
import { Refusal } from '../refusal.ts';
import { presentedKey } from './carriers.ts';
import type { KeyIndex } from './key-index.ts';

type AuthReason = 'missing_api_key' | 'invalid_api_key' | 'too_many_bad_keys';

/** How the check of a key ended. `value` is what the caller presented, to be removed from the call. */
export type AuthResult =
  { ok: true; key: RouterKey; value: string } | { ok: false; refusal: Refusal; reason: AuthReason };

/** The part of a call that carries a key. */
interface KeyCarrier {
  rawHeaders: readonly string[];
  query: string | undefined;
  /** The caller's address. */
  client: string;
}

/**
 * One answer for missing, unknown, disabled, expired and other groups' keys, so that none can be distinguished (R7).
 */
const UNAUTHORIZED = new Refusal('unauthorized', ['WWW-Authenticate', 'Bearer realm="wherry", Basic realm="wherry"']);

/** Checks keys against the groups that a function requires. */
export class Authenticator {
  readonly #clock: Clock;
  readonly #throttle: BadKeyThrottle;

  constructor(clock: Clock, throttle: BadKeyThrottle) {
    this.#clock = clock;
    this.#throttle = throttle;
  }

  check(carrier: KeyCarrier, groups: ReadonlySet<string>, keys: KeyIndex): AuthResult {
    const value = presentedKey(carrier.rawHeaders, carrier.query);
    if (value === undefined) return { ok: false, refusal: UNAUTHORIZED, reason: 'missing_api_key' };
    const key = keys.find(value);
    if (key !== undefined && groups.has(key.groupId) && !this.#isExpired(key)) return { ok: true, key, value };
    const retryAfter = this.#throttle.badKey(carrier.client);
    if (retryAfter === undefined) return { ok: false, refusal: UNAUTHORIZED, reason: 'invalid_api_key' };
    return {
      ok: false,
      refusal: new Refusal('throttled', ['Retry-After', String(retryAfter)]),
      reason: 'too_many_bad_keys',
    };
  }

  #isExpired(key: RouterKey): boolean {
    return key.expiresAt !== null && key.expiresAt <= this.#clock.now();
  }
}
