import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { KeyedLock } from '@wherry/service/keyed-lock.ts';
import type { KeyAccess } from './authentication/key-access.ts';
import type { Authenticate } from './http/principal.ts';
import { PasswordHasher, type PasswordCost } from './passwords/password-hasher.ts';
import { Sessions } from './sessions/sessions.ts';
import { SignInService } from './sessions/sign-in-service.ts';
import { UserService } from './users/user-service.ts';
import type { UserStore } from './users/user-store.ts';

/** What users and sessions are made of. */
export interface Accounts {
  users: UserService;
  sessions: Sessions;
  signIn: SignInService;
}

interface AccountParts {
  users: UserStore;
  clock: Clock;
  logger: Logger;
  passwordCost?: PasswordCost | undefined;
}

export function buildAccounts({ users: store, clock, logger, passwordCost }: AccountParts, lock: KeyedLock): Accounts {
  const hasher = new PasswordHasher(passwordCost);
  const sessions = new Sessions({ store, clock, logger, lock });
  return {
    sessions,
    users: new UserService({ store, sessions, hasher, clock, lock }),
    signIn: new SignInService({ store, hasher, clock }),
  };
}

/** A key that is present decides, also a bad one beside a good cookie. */
export function authenticateBy(byKey: KeyAccess['authenticate'], sessions: Sessions): Authenticate {
  return (request, connection, purpose) =>
    request.headers['x-api-key'] === undefined ? sessions.authenticate(request, connection, purpose) : byKey(request);
}
