import { randomUUID } from 'node:crypto';
import type { KeyLimit, LimitsDown, RouterUp } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { Refusal } from '../refusal.ts';
import { ANSWER_MS, LimitAccount, secondsLeftOfDay } from './limit-account.ts';

type Report = Extract<RouterUp, { type: 'limits' }>;

/** How often limits that are in use are reported. */
const REPORT_MS = 1000;
/** Every so many of them a router reports that it is there, when no limit is in use. */
const QUIET_ROUNDS = 5;
/** A limit without calls for so long is forgotten, and its quota returned. */
const IDLE_MS = 30_000;
/** Where no answer came, calls do not wait for one for so long. */
const MUTE_MS = 5000;

/** Whether a call may go on, and what its answer says of its limits. */
export interface Verdict {
  refusal?: Refusal;
  /** Flat list of names and values. */
  headers: readonly string[];
}

/** The limits of keys and of groups: what this router may accept of each, and what it reports of them. */
export class KeyLimits {
  readonly #clock: Clock;
  readonly #router = randomUUID();
  readonly #accounts = new Map<string, LimitAccount>();
  readonly #waiters = new Set<() => void>();
  #routers = 1;
  #send: ((report: Report) => void) | undefined;
  #reportedAt = 0;
  #quietRounds = 0;
  #isUrgent = false;
  /** Monotonic: until then nobody is expected to answer. */
  #muteUntil = 0;
  #cancelTimer: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    this.#cancelTimer = this.#clock.after(REPORT_MS, () => {
      this.#reportRegularly();
      this.start();
    });
  }

  /** Returns what is left of quotas. */
  stop(): void {
    this.#cancelTimer();
    this.#report(true);
  }

  /** Where reports go from now on; undefined: nowhere, and every limit goes on with its share. */
  connect(send: ((report: Report) => void) | undefined): void {
    this.#send = send;
    for (const account of this.#accounts.values()) account.lose();
    this.#report(false);
  }

  answer({ routers, limits }: LimitsDown): void {
    this.#routers = Math.max(1, routers);
    const now = this.#clock.monotonic();
    this.#muteUntil = 0;
    for (const [holder, answer] of Object.entries(limits)) this.#accounts.get(holder)?.answer(answer, now);
    for (const notify of [...this.#waiters]) notify();
  }

  /** A promise only where the quota has to be requested first. */
  admit(limits: readonly KeyLimit[]): Verdict | Promise<Verdict> {
    const now = this.#clock.monotonic();
    const accounts = limits.map((limit) => this.#account(limit, now));
    for (const account of accounts) account.offer(now, this.#routers);
    const waitMs = Math.max(...accounts.map((account) => account.waitMs(now, this.#routers)));
    if (waitMs > 0) return this.#refuse(accounts, 'rate_limited', Math.ceil(waitMs / 1000));
    for (const account of accounts) if (account.limit.rate !== undefined) account.takeToken();
    return this.#takeQuotas(accounts) ?? this.#waitForQuotas(accounts);
  }

  /** @returns undefined when an answer is needed. */
  #takeQuotas(accounts: readonly LimitAccount[]): Verdict | undefined {
    const wall = this.#clock.now();
    const quotas = accounts.map((account) => account.quota(wall, this.#clock.monotonic()));
    if (quotas.includes('used-up')) return this.#refuse(accounts, 'quota_exceeded', secondsLeftOfDay(wall));
    if (quotas.includes('unknown')) return undefined;
    for (const account of accounts) account.takeQuota();
    return { headers: this.#headers(accounts) };
  }

  async #waitForQuotas(accounts: readonly LimitAccount[]): Promise<Verdict> {
    const begin = this.#clock.monotonic();
    if (begin < this.#muteUntil) return this.#takeCutOff(accounts);
    for (const account of accounts) account.wait(1);
    try {
      while (this.#send !== undefined && this.#clock.monotonic() < begin + ANSWER_MS) {
        if (accounts.some((account) => account.isDue(this.#clock.monotonic()))) this.#urge();
        await this.#nextAnswer(begin + ANSWER_MS);
        const verdict = this.#takeQuotas(accounts);
        if (verdict !== undefined) return verdict;
      }
    } finally {
      for (const account of accounts) account.wait(-1);
    }
    this.#muteUntil = this.#clock.monotonic() + MUTE_MS;
    return this.#takeCutOff(accounts);
  }

  /** Nobody answers: a part of each quota is accepted even so, and reported later. */
  #takeCutOff(accounts: readonly LimitAccount[]): Verdict {
    const wall = this.#clock.now();
    for (const account of accounts)
      if (account.quota(wall, this.#clock.monotonic()) !== 'free' && !account.owe(this.#routers))
        return this.#refuse(accounts, 'quota_exceeded', MUTE_MS / 1000);
    for (const account of accounts) account.takeQuota();
    return { headers: this.#headers(accounts) };
  }

  #nextAnswer(end: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        this.#waiters.delete(done);
        resolve();
      };
      const cancel = this.#clock.after(Math.max(0, end - this.#clock.monotonic()), done);
      this.#waiters.add(done);
    });
  }

  #account(limit: KeyLimit, now: number): LimitAccount {
    const known = this.#accounts.get(limit.holder);
    if (known !== undefined) {
      known.limit = limit;
      return known;
    }
    const account = new LimitAccount(limit, now, this.#routers);
    this.#accounts.set(limit.holder, account);
    // Of a limit that was not in use, this router may get more than an equal part.
    if (this.#routers > 1) this.#urge();
    return account;
  }

  /** Many that begin in one turn are reported together. */
  #urge(): void {
    if (this.#isUrgent) return;
    this.#isUrgent = true;
    queueMicrotask(() => {
      this.#isUrgent = false;
      this.#report(false);
    });
  }

  #reportRegularly(): void {
    this.#quietRounds += 1;
    if (this.#accounts.size > 0 || this.#quietRounds >= QUIET_ROUNDS) this.#report(false);
  }

  #report(ends: boolean): void {
    const now = this.#clock.monotonic();
    const seconds = Math.max(1, (now - this.#reportedAt) / 1000);
    this.#reportedAt = now;
    this.#quietRounds = 0;
    if (this.#send === undefined) return;
    const limits: Report['report']['limits'] = {};
    for (const [holder, account] of this.#accounts) {
      const isIdle = account.idleMs(now) > IDLE_MS;
      if (isIdle) this.#accounts.delete(holder);
      limits[holder] = account.report(now, seconds, ends || isIdle);
    }
    this.#send({ type: 'limits', report: { router: this.#router, limits } });
  }

  #refuse(accounts: readonly LimitAccount[], code: 'rate_limited' | 'quota_exceeded', seconds: number): Verdict {
    const headers = this.#headers(accounts);
    return { refusal: new Refusal(code, ['Retry-After', String(Math.max(1, seconds)), ...headers]), headers };
  }

  /** Of the limit that has the fewest calls left. */
  #headers(accounts: readonly LimitAccount[]): string[] {
    const now = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    const states = accounts.flatMap((account) => account.state(now, monotonic, this.#routers));
    const [first] = states.sort((a, b) => a.remaining - b.remaining || b.resetSeconds - a.resetSeconds);
    if (first === undefined) return [];
    return [
      'RateLimit-Limit',
      String(first.limit),
      'RateLimit-Remaining',
      String(first.remaining),
      'RateLimit-Reset',
      String(first.resetSeconds),
    ];
  }
}
