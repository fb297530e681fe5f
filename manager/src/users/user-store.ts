import {
  emailKey,
  type Identity,
  type SessionRecord,
  type UserChange,
  type UserData,
  type UserRecord,
} from './user-record.ts';

/** What writes the database. */
interface UserWriter {
  /** Makes all changes or none; they are on the disk when it resolves. @throws DomainError `unavailable`. */
  write(changes: readonly UserChange[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * Users, their sessions and their settings. One process owns the database, so it reads from memory, and what it reads
 * is on the disk already.
 */
export class UserStore {
  readonly #writer: UserWriter;
  readonly #users = new Map<string, UserRecord>();
  readonly #sessions = new Map<string, SessionRecord>();
  readonly #settings = new Map<string, Map<string, string>>();

  constructor(writer: UserWriter, { users, sessions, settings }: UserData) {
    this.#writer = writer;
    for (const user of users) this.#apply({ put: 'user', user });
    for (const session of sessions) this.#apply({ put: 'session', session });
    for (const setting of settings) this.#apply({ put: 'setting', setting });
  }

  /** All users. */
  users(): UserRecord[] {
    return [...this.#users.values()];
  }

  user(id: string): UserRecord | undefined {
    return this.#users.get(id);
  }

  userByEmail(email: string): UserRecord | undefined {
    const key = emailKey(email);
    return this.users().find((user) => emailKey(user.email) === key);
  }

  userByIdentity({ issuer, subject }: Identity): UserRecord | undefined {
    return this.users().find(({ identity }) => identity?.issuer === issuer && identity.subject === subject);
  }

  session(hash: string): SessionRecord | undefined {
    return this.#sessions.get(hash);
  }

  /** All sessions, or those of one user. */
  sessions(userId?: string): SessionRecord[] {
    const all = [...this.#sessions.values()];
    return userId === undefined ? all : all.filter((session) => session.userId === userId);
  }

  /** The values that a user has chosen, by name. */
  settings(userId: string): Record<string, string> {
    return Object.fromEntries(this.#settings.get(userId) ?? []);
  }

  /** Makes all changes or none: on the disk first, then to what is read here. @throws DomainError `unavailable`. */
  async write(...changes: readonly UserChange[]): Promise<void> {
    await this.#writer.write(changes);
    for (const change of changes) this.#apply(change);
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  #apply(change: UserChange): void {
    if ('touch' in change) {
      const session = this.#sessions.get(change.hash);
      if (session !== undefined) this.#sessions.set(change.hash, { ...session, lastUsedAt: change.lastUsedAt });
    } else if ('put' in change) this.#put(change);
    else if (change.remove === 'session') this.#sessions.delete(change.hash);
    else if (change.remove === 'setting') this.#settings.get(change.userId)?.delete(change.name);
    else {
      this.#users.delete(change.id);
      this.#settings.delete(change.id);
      for (const { hash } of this.sessions(change.id)) this.#sessions.delete(hash);
    }
  }

  #put(change: Extract<UserChange, { put: string }>): void {
    if (change.put === 'user') this.#users.set(change.user.id, change.user);
    else if (change.put === 'session') this.#sessions.set(change.session.hash, change.session);
    else {
      const { userId, name, value } = change.setting;
      const settings = this.#settings.get(userId) ?? new Map<string, string>();
      this.#settings.set(userId, settings.set(name, value));
    }
  }
}
