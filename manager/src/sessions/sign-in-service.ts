import { DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { PasswordHasher } from '../passwords/password-hasher.ts';
import type { UserRecord } from '../users/user-record.ts';
import type { UserStore } from '../users/user-store.ts';
import { SignInThrottle } from './sign-in-throttle.ts';

interface SignInServiceOptions {
  store: UserStore;
  hasher: PasswordHasher;
  clock: Clock;
}

/** Sign-in with email and password. */
export class SignInService {
  readonly #options: SignInServiceOptions;
  readonly #throttle: SignInThrottle;

  constructor(options: SignInServiceOptions) {
    this.#options = options;
    this.#throttle = new SignInThrottle(options.clock);
  }

  /**
   * The user of this email and password.
   * @param address of the caller.
   * @throws DomainError `unauthorized`, the same for an unknown email, a user without a password and a wrong one;
   *   `throttled`.
   */
  async verify({ email, password }: { email: string; password: string }, address: string): Promise<UserRecord> {
    const user = await this.#throttle.attempt(email, address, () => this.#userOf(email, password));
    if (user === undefined) throw new DomainError('unauthorized', 'The email or the password is wrong.');
    return user;
  }

  async #userOf(email: string, password: string): Promise<UserRecord | undefined> {
    const { store, hasher } = this.#options;
    const known = store.userByEmail(email);
    const isRight = await hasher.verify(password, known?.passwordHash ?? null);
    if (known === undefined || !isRight) return undefined;
    // It may have been changed, or its user deleted, while it was hashed.
    const user = store.user(known.id);
    return user?.passwordHash === known.passwordHash ? user : undefined;
  }
}
