import { randomUUID } from 'node:crypto';
import { conflict, DomainError, notFound } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import { mayUse, type Principal } from '../http/principal.ts';
import { refused, requireSame } from '../http/validate.ts';
import { compareCodePoints } from '../object-access/shape.ts';
import type { ProvidedAccount } from '../oidc/admit-account.ts';
import type { PasswordHasher } from '../passwords/password-hasher.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { UserRecord } from './user-record.ts';
import type { UserCreate, UserUpdate } from './user-schemas.ts';
import type { UserStore } from './user-store.ts';

interface UserServiceOptions {
  store: UserStore;
  sessions: Sessions;
  hasher: PasswordHasher;
  clock: Pick<Clock, 'now'>;
  lock: KeyedLock;
}

/** A user to be created. `role` is left out for the default: admin for the first user, else editor. */
type NewUser = Pick<UserRecord, 'email'> & Partial<UserRecord>;

/** A user who signs in with a provider's account, and what that did to the user; undefined for nothing. */
interface Admitted {
  user: UserRecord;
  action: 'user.create' | 'user.update' | undefined;
}

/** Who makes a change, looked up at each call: the right to it may end while the change waits. */
type Caller = () => Principal | undefined;

/** Users and what may be done with them. What is decided from all users holds while it is written: `users` is locked. */
export class UserService {
  readonly #options: UserServiceOptions;

  constructor(options: UserServiceOptions) {
    this.#options = options;
  }

  /** By email. */
  list(): UserRecord[] {
    return this.#options.store.users().sort((a, b) => compareCodePoints(a.email, b.email));
  }

  /** @throws DomainError `not_found`. */
  get(id: string): UserRecord {
    const user = this.#options.store.user(id);
    if (user === undefined) throw notFound(`There is no user ${id}.`);
    return user;
  }

  hasUsers(): boolean {
    return this.#options.store.users().length > 0;
  }

  /**
   * @throws DomainError `conflict` where the email is taken; `validation_failed` for a first user who is no admin;
   *   `unauthorized` or `forbidden` where the caller has lost the right to it while the password was hashed.
   */
  async create(body: UserCreate, caller: Caller): Promise<UserRecord> {
    this.#requireFree(body.email);
    const passwordHash = await this.#options.hasher.hash(body.password);
    const { email, role, name = null } = body;
    return this.#options.lock.run('users', async () => {
      requireAdministrator(caller);
      return this.#insert({ email, name, passwordHash, ...(role === undefined ? {} : { role }) });
    });
  }

  /**
   * Creates the first user, an administrator.
   * @returns undefined where there is a user already.
   */
  async createFirst({ email, password, name = null }: Omit<UserCreate, 'role'>): Promise<UserRecord | undefined> {
    if (this.hasUsers()) return undefined;
    const passwordHash = await this.#options.hasher.hash(password);
    return this.#options.lock.run('users', async () =>
      this.hasUsers() ? undefined : this.#insert({ email, name, passwordHash, role: 'admin' }),
    );
  }

  /** As `create`, of what is known of a user already. */
  insert(user: NewUser): Promise<UserRecord> {
    return this.#options.lock.run('users', () => this.#insert(user));
  }

  /**
   * The user of a provider's account: the one who has signed in with it before, else the one whose email the provider has
   * verified, else a new one.
   * @throws DomainError `conflict` where the email is another user's, or no admin would be left; `forbidden` for a first
   *   user who is no administrator.
   */
  admit(account: ProvidedAccount): Promise<Admitted> {
    return this.#options.lock.run('users', async () => {
      const known = this.#options.store.userByIdentity(account.identity) ?? this.#byVerifiedEmail(account);
      return known === undefined ? this.#insertProvided(account) : this.#follow(known, account);
    });
  }

  /**
   * Changes a user. A new password ends their sessions, except the one that changes it.
   * @throws DomainError `forbidden` for what needs an administrator; `conflict` where no admin would be left;
   *   `unauthorized` where the session or key of the request is no longer valid.
   */
  async update(id: string, body: UserUpdate, caller: Caller): Promise<UserRecord> {
    const { email, password, name, role } = body;
    requireMayUpdate(id, body, caller);
    requireSame('email', email, this.get(id).email);
    const passwordHash = password === undefined ? undefined : await this.#hashFor(id, password);
    return this.#options.lock.run('users', async () => {
      const session = requireMayUpdate(id, body, caller);
      const before = this.get(id);
      const user: UserRecord = {
        ...before,
        name: name === undefined ? before.name : name,
        role: role ?? before.role,
        passwordHash: passwordHash ?? before.passwordHash,
        updatedAt: this.#options.clock.now(),
      };
      if (user.role !== 'admin') this.#requireAnotherAdmin(before);
      const { sessions, store } = this.#options;
      const ended = passwordHash === undefined ? [] : sessions.endOf(id, session);
      await store.write({ put: 'user', user }, ...ended);
      return user;
    });
  }

  /** One at a time for each user: whoever changes their own password again and again keeps nobody from signing in (M2). */
  #hashFor(id: string, password: string): Promise<string> {
    return this.#options.lock.run(`password of ${id}`, () => this.#options.hasher.hash(password));
  }

  /**
   * Deletes a user with their sessions and settings.
   * @throws DomainError `unauthorized`, `forbidden`, `conflict`, `not_found`.
   */
  remove(id: string, caller: Caller): Promise<UserRecord> {
    return this.#options.lock.run('users', async () => {
      const principal = requireAdministrator(caller);
      const user = this.get(id);
      if (principal.type === 'user' && principal.id === id)
        throw new DomainError('forbidden', 'You cannot delete your own account: another administrator can.');
      if (user.isFirst) throw new DomainError('forbidden', `${user.email} is the first user, who cannot be deleted.`);
      this.#requireAnotherAdmin(user);
      await this.#options.store.write({ remove: 'user', id });
      return user;
    });
  }

  async #insert(user: NewUser): Promise<UserRecord> {
    this.#requireFree(user.email);
    const isFirst = !this.hasUsers();
    if (isFirst && (user.role ?? 'admin') !== 'admin')
      throw refused([{ path: 'role', message: 'must be admin for the first user' }]);
    const now = this.#options.clock.now();
    const record: UserRecord = {
      emailVerified: false,
      name: null,
      image: null,
      role: isFirst ? 'admin' : 'editor',
      passwordHash: null,
      identity: null,
      ...user,
      id: randomUUID(),
      isFirst,
      createdAt: now,
      updatedAt: now,
    };
    await this.#options.store.write({ put: 'user', user: record });
    return record;
  }

  async #insertProvided({ role: _current, firstRole: role, ...given }: ProvidedAccount): Promise<Admitted> {
    if (role !== 'admin' && !this.hasUsers())
      throw new DomainError('forbidden', 'There is no administrator yet: the first user must be one.');
    return { user: await this.#insert({ ...given, role }), action: 'user.create' };
  }

  /** Gives a user the identity and the role that the provider's account has. */
  async #follow(known: UserRecord, { identity, emailVerified, role = known.role }: ProvidedAccount): Promise<Admitted> {
    const isNew = known.identity === null;
    if (!isNew && known.role === role) return { user: known, action: undefined };
    if (role !== 'admin') this.#requireAnotherAdmin(known);
    const updatedAt = this.#options.clock.now();
    const user = { ...known, ...(isNew && { identity, emailVerified }), role, updatedAt };
    await this.#options.store.write({ put: 'user', user });
    return { user, action: 'user.update' };
  }

  /** @throws DomainError `conflict` where the user of this email is not the account's. */
  #byVerifiedEmail({ email, emailVerified }: ProvidedAccount): UserRecord | undefined {
    const user = this.#options.store.userByEmail(email);
    if (user === undefined || (emailVerified && user.identity === null)) return user;
    const reason = emailVerified ? 'who has another account of a provider' : 'and the provider has not verified it';
    throw conflict(`There is a user with the email ${email} already, ${reason}.`);
  }

  #requireFree(email: string): void {
    if (this.#options.store.userByEmail(email) !== undefined)
      throw conflict(`A user with the email ${email} already exists.`);
  }

  #requireAnotherAdmin({ id, email, role }: UserRecord): void {
    const isNeeded = role === 'admin' && !this.list().some((user) => user.role === 'admin' && user.id !== id);
    if (isNeeded) throw conflict(`${email} is the last administrator: make another user an administrator first.`);
  }
}

/** A password that was reset must not be set again by whoever had the session before, with a request from then. */
function requireValid(caller: Caller): Principal {
  const principal = caller();
  if (principal !== undefined) return principal;
  throw new DomainError(
    'unauthorized',
    'The session or key of this request is no longer valid: sign in again, or use another key.',
  );
}

function requireAdministrator(caller: Caller): Principal {
  const principal = requireValid(caller);
  if (!mayUse('administer', principal))
    throw new DomainError('forbidden', 'Only administrators and management keys may do this.');
  return principal;
}

/** @returns the session that stays: of a user who changes their own password. */
function requireMayUpdate(id: string, { name, role }: UserUpdate, caller: Caller): string | undefined {
  const principal = requireValid(caller);
  const session = principal.type === 'user' && principal.id === id ? principal.session : undefined;
  if (mayUse('administer', principal) || (session !== undefined && name === undefined && role === undefined))
    return session;
  throw new DomainError(
    'forbidden',
    'Only administrators and management keys may change other users, names and roles; you may change your own password.',
  );
}
