import type { QuotaGrant, QuotaRequest } from '@wherry/core/ports/key-ledger.ts';
import type { KeyLimit } from '@wherry/core/feed/messages.ts';
import { SHARE_TTL_MS, type OfferedCalls, type Share } from '@wherry/core/limits/share-board.ts';

const DAY_MS = 86_400_000;
/** A quota that is used up is requested again after this time: it may have been raised, or parts of it returned. */
const RETRY_MS = 5000;
/** For how long a router that asked for calls has enough of them. */
const AHEAD_SECONDS = 60;
/** What a router accepts of a quota that it cannot ask for, over all routers: a tenth. */
const CUT_OFF_PART = 10;

/** An answer that has not come by then is lost. */
export const ANSWER_MS = 1000;

const dayOf = (now: number): number => Math.floor(now / DAY_MS);
export const secondsLeftOfDay = (now: number): number =>
  Math.max(1, Math.ceil(((dayOf(now) + 1) * DAY_MS - now) / 1000));

/** What this router has of one limit: its part of the rate as a token bucket, and of the quota as a number of calls. */
export class LimitAccount {
  limit: KeyLimit;
  /** Calls that were presented since the last report. */
  #offered = 0;
  #offeredAt: number;
  #share: number;
  #answeredAt = -Infinity;
  #tokens: number;
  #refilledAt: number;
  #day = -1;
  #granted = 0;
  #left: number;
  #owed = 0;
  #usedUpAt = -Infinity;
  /** When an answer was requested that has not come. */
  #requestedAt = -Infinity;
  /** Calls that wait for the answer. */
  #waiting = 0;

  /** @param now monotonic milliseconds. */
  constructor(limit: KeyLimit, now: number, routers: number) {
    this.limit = limit;
    this.#share = 1 / routers;
    this.#offeredAt = now;
    this.#refilledAt = now;
    this.#tokens = this.#capacity(now, routers);
    this.#left = limit.dailyQuota ?? 0;
  }

  /** How long no call was presented. */
  idleMs(now: number): number {
    return now - this.#offeredAt;
  }

  offer(now: number, routers: number): void {
    this.#offered += 1;
    this.#offeredAt = now;
    const { rate } = this.limit;
    if (rate === undefined) return;
    const perMs = (rate.requestsPerSecond * this.#shareAt(now, routers)) / 1000;
    this.#tokens = Math.min(this.#capacity(now, routers), this.#tokens + (now - this.#refilledAt) * perMs);
    this.#refilledAt = now;
  }

  /** Milliseconds until the rate accepts a call; 0: now. Call it after `offer`. */
  waitMs(now: number, routers: number): number {
    const { rate } = this.limit;
    if (rate === undefined || this.#tokens >= 1) return 0;
    return ((1 - this.#tokens) * 1000) / (rate.requestsPerSecond * this.#shareAt(now, routers));
  }

  takeToken(): void {
    this.#tokens -= 1;
  }

  /** @param now milliseconds since 1970 UTC. */
  quota(now: number, monotonic: number): 'free' | 'used-up' | 'unknown' {
    if (this.limit.dailyQuota === undefined) return 'free';
    if (dayOf(now) > this.#day) this.#beginDay(dayOf(now));
    if (this.#granted > 0) return 'free';
    return monotonic - this.#usedUpAt < RETRY_MS ? 'used-up' : 'unknown';
  }

  takeQuota(): void {
    if (this.limit.dailyQuota !== undefined) this.#granted -= 1;
  }

  /** Accepts a call that cannot be asked for. @returns whether it may. */
  owe(routers: number): boolean {
    const most = Math.floor((this.limit.dailyQuota ?? 0) / (CUT_OFF_PART * routers));
    if (this.#owed >= most) return false;
    this.#owed += 1;
    this.#granted += 1;
    return true;
  }

  /** A call waits for an answer, or does so no more. */
  wait(by: 1 | -1): void {
    this.#waiting += by;
  }

  /** Whether there is something to request now, and no request under way. */
  isDue(now: number): boolean {
    return this.#waiting > 0 && !this.#isRequested(now);
  }

  /** The answer to the last report will not come. */
  lose(): void {
    this.#requestedAt = -Infinity;
  }

  /** @param ends nothing is accepted any more. */
  report(now: number, seconds: number, ends: boolean): { rate?: OfferedCalls; quota?: QuotaRequest } {
    const { rate, dailyQuota } = this.limit;
    const offered = this.#offered;
    this.#offered = 0;
    const isOpen = !ends && !this.#isRequested(now);
    const request =
      dailyQuota === undefined ? undefined : this.#request(dailyQuota, isOpen ? offered / seconds : 0, ends);
    if (isOpen && request !== undefined && request.wanted > 0) this.#requestedAt = now;
    return {
      ...(rate !== undefined && { rate: { ...rate, offered } }),
      ...(request !== undefined && { quota: isOpen ? request : { ...request, wanted: 0 } }),
    };
  }

  answer({ rate, quota }: { rate?: Share | undefined; quota?: QuotaGrant | undefined }, now: number): void {
    if (rate !== undefined) {
      this.#share = rate.share;
      this.#answeredAt = now;
      this.#tokens += rate.bonus;
    }
    this.lose();
    if (quota === undefined || quota.day < this.#day) return;
    if (quota.day > this.#day) this.#beginDay(quota.day);
    this.#granted += quota.granted;
    this.#left = quota.left;
    if (quota.left === 0 && this.#granted <= 0) this.#usedUpAt = now;
  }

  /** What callers see: how much there is, how much of it is left over all routers, and when it begins again. */
  state(now: number, monotonic: number, routers: number): { limit: number; remaining: number; resetSeconds: number }[] {
    const { rate, dailyQuota } = this.limit;
    const states = [];
    if (rate !== undefined) {
      const share = this.#shareAt(monotonic, routers);
      const remaining = Math.min(rate.burst, Math.floor(this.#tokens / share));
      const resetSeconds = Math.ceil((rate.burst - remaining) / rate.requestsPerSecond);
      states.push({ limit: rate.burst, remaining: Math.max(0, remaining), resetSeconds });
    }
    if (dailyQuota !== undefined) {
      const remaining = Math.max(0, Math.min(dailyQuota, this.#left + this.#granted));
      states.push({ limit: dailyQuota, remaining, resetSeconds: secondsLeftOfDay(now) });
    }
    return states;
  }

  #beginDay(day: number): void {
    this.#day = day;
    this.#granted = 0;
    this.#owed = 0;
    this.#left = this.limit.dailyQuota ?? 0;
    this.#usedUpAt = -Infinity;
    this.lose();
  }

  #request(daily: number, perSecond: number, ends: boolean): QuotaRequest {
    const owed = this.#owed;
    this.#owed = 0;
    const returned = ends ? Math.max(0, this.#granted) : 0;
    this.#granted -= returned;
    const ahead = Math.ceil(perSecond * AHEAD_SECONDS);
    // Calls may wait that an earlier report has counted.
    const isLow = this.#granted < Math.max(ahead / 2, this.#waiting);
    const wanted = isLow ? Math.max(this.#waiting, ahead - this.#granted) : 0;
    return { daily, wanted, returned, owed, day: Math.max(0, this.#day) };
  }

  #isRequested(now: number): boolean {
    return now - this.#requestedAt < ANSWER_MS;
  }

  /** A share that was not confirmed for a while may have been given to others: then it is an equal one at the most. */
  #shareAt(now: number, routers: number): number {
    return now - this.#answeredAt <= SHARE_TTL_MS ? this.#share : Math.min(this.#share, 1 / routers);
  }

  /** One call at least, also where there are more routers than calls of a burst. */
  #capacity(now: number, routers: number): number {
    return Math.max(1, (this.limit.rate?.burst ?? 0) * this.#shareAt(now, routers));
  }
}
