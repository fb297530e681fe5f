import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { SESSION_COOKIE } from '@wherry/core/management-cookies.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import type { Connection } from '../http/connection.ts';
import type { UserPrincipal } from '../http/principal.ts';
import type { SessionRecord, UserChange, UserRecord } from '../users/user-record.ts';
import type { UserStore } from '../users/user-store.ts';
import { readCookie, setCookie } from './session-cookie.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/** How old the stored time of the last request may be. After a restart a session may so end a minute early. */
const TOUCH_MS = 60_000;
/** 256 random bits. */
const ID_BYTES = 32;

interface SessionsOptions {
  store: UserStore;
  clock: Pick<Clock, 'now'>;
  lock: KeyedLock;
  logger: Logger;
}

/** The sessions of signed-in users. Ids are in cookies alone: the store has their hashes (M3). */
export class Sessions {
  readonly #options: SessionsOptions;
  /** When a session's last request was, where that is newer than what the store has; it goes with the session. */
  readonly #lastUsed = new WeakMap<SessionRecord, number>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** The user whose session a request's cookie names. `use` notes that it is used. */
  authenticate(request: IncomingMessage, connection: Connection, purpose: 'use' | 'check'): UserPrincipal | undefined {
    const hash = hashOf(readCookie(SESSION_COOKIE, request, connection));
    const session = hash === undefined ? undefined : this.#options.store.session(hash);
    if (session === undefined || !this.#isLive(session)) return undefined;
    const user = this.#options.store.user(session.userId);
    if (user === undefined) return undefined;
    if (purpose === 'use') this.#use(session);
    return { type: 'user', id: user.id, email: user.email, role: user.role, session: session.hash };
  }

  /**
   * Begins a session with a new id, and ends the one that the request has.
   * @returns the Set-Cookie header.
   * @throws DomainError `unauthorized` where the user was deleted, or the password changed, since it was verified.
   */
  begin(user: UserRecord, call: { request: IncomingMessage; connection: Connection }): Promise<string> {
    // With changes of passwords, which end the sessions that there are.
    return this.#options.lock.run('users', async () => {
      const current = this.#options.store.user(user.id);
      if (current === undefined) throw new DomainError('unauthorized', 'The user has just been deleted.');
      if (current.passwordHash !== user.passwordHash)
        throw new DomainError('unauthorized', 'The password of the user has just been set or changed: sign in again.');
      return this.#begin(user, call);
    });
  }

  async #begin(
    user: UserRecord,
    { request, connection }: { request: IncomingMessage; connection: Connection },
  ): Promise<string> {
    const id = randomBytes(ID_BYTES).toString('base64url');
    const now = this.#options.clock.now();
    const before = hashOf(readCookie(SESSION_COOKIE, request, connection));
    const ended = [...this.#ended(user.id), ...(before === undefined ? [] : [before])];
    await this.#options.store.write(...ended.map((hash) => ({ remove: 'session', hash }) as const), {
      put: 'session',
      session: { hash: sha256(id), userId: user.id, createdAt: now, lastUsedAt: now },
    });
    return setCookie(SESSION_COOKIE, id, { seconds: MANAGER_LIMITS.sessionMs / 1000, connection });
  }

  /** Ends a session. @returns the Set-Cookie header that removes its cookie. @throws DomainError `unavailable`. */
  async end(hash: string, connection: Connection): Promise<string> {
    await this.#options.store.write({ remove: 'session', hash });
    return setCookie(SESSION_COOKIE, '', { seconds: 0, connection });
  }

  /** The changes that end a user's sessions, except one. */
  endOf(userId: string, except?: string): UserChange[] {
    return this.#options.store
      .sessions(userId)
      .filter(({ hash }) => hash !== except)
      .map(({ hash }) => ({ remove: 'session', hash }));
  }

  /** Those that are over, and of the user's those that are too many with another one. */
  #ended(userId: string): string[] {
    const all = this.#options.store.sessions();
    const live = all.filter((session) => session.userId === userId && this.#isLive(session));
    const surplus = live
      .sort((a, b) => this.#lastUsedAt(b) - this.#lastUsedAt(a))
      .slice(MANAGER_LIMITS.sessionsOfUser - 1);
    return [...all.filter((session) => !this.#isLive(session)), ...surplus].map(({ hash }) => hash);
  }

  #isLive(session: SessionRecord): boolean {
    const now = this.#options.clock.now();
    return (
      now - session.createdAt < MANAGER_LIMITS.sessionMs &&
      now - this.#lastUsedAt(session) < MANAGER_LIMITS.sessionIdleMs
    );
  }

  #lastUsedAt(session: SessionRecord): number {
    return Math.max(session.lastUsedAt, this.#lastUsed.get(session) ?? 0);
  }

  #use(session: SessionRecord): void {
    const { hash, lastUsedAt } = session;
    const now = this.#options.clock.now();
    this.#lastUsed.set(session, Math.max(now, this.#lastUsedAt(session)));
    if (now - lastUsedAt < TOUCH_MS) return;
    this.#options.store.write({ touch: 'session', hash, lastUsedAt: now }).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
      this.#options.logger.warn({ err: error }, 'the use of a session cannot be stored; it may end early');
    });
  }
}

/** Of a cookie's value; undefined for what is no id. */
function hashOf(id: string | undefined): string | undefined {
  return id !== undefined && /^[A-Za-z0-9_-]{43}$/.test(id) ? sha256(id) : undefined;
}

/** Of 256 random bits, which no dictionary has: it needs neither a salt nor to be slow. */
function sha256(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}
