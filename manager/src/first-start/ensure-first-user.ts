import type { Clock } from '@wherry/core/ports/clock.ts';
import { systemRecord } from '../audit/audit-record.ts';
import type { AuditStore } from '../audit/audit-store.ts';
import { userObject } from '../users/user-routes.ts';
import type { UserService } from '../users/user-service.ts';

/** `WHERRY_ADMIN_EMAIL` and `WHERRY_ADMIN_PASSWORD`. */
export interface FirstUser {
  email: string;
  password: string;
}

interface FirstUserOptions {
  users: UserService;
  /** Records that the user was created (M9). */
  audit: Pick<AuditStore, 'append'>;
  clock: Pick<Clock, 'now'>;
  user: FirstUser | undefined;
}

/** Creates the first user, where one is configured and there is none. */
export async function ensureFirstUser({ users, audit, clock, user }: FirstUserOptions): Promise<void> {
  const made =
    user === undefined ? undefined : await users.createFirst({ ...user, passwordConfirmation: user.password });
  if (made === undefined) return;
  await audit.append([systemRecord(clock.now(), { action: 'user.create', object: userObject(made), result: 'ok' })]);
}
