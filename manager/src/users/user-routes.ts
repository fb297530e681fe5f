import { timingSafeEqual, createHash } from 'node:crypto';
import { DomainError, notFound } from '@wherry/core/errors.ts';
import type { AuditActor } from '../audit/audit-record.ts';
import { routes, type Route } from '../http/endpoint.ts';
import { SUCCESS } from '../object-access/shape.ts';
import { userEndpoints } from './user-endpoints.ts';
import type { UserRecord } from './user-record.ts';
import { userView } from './user-schemas.ts';
import type { UserService } from './user-service.ts';

interface UserRoutesOptions {
  users: UserService;
  /** Undefined: the first user cannot be created by setup. */
  setupToken: string | undefined;
}

export function userRoutes({ users, setupToken }: UserRoutesOptions): Route[] {
  const made = routes(userEndpoints, {
    list: async () => ({ json: { users: users.list().map(userView) } }),
    create: async ({ body, principalNow }) => {
      const user = await users.create(body, principalNow);
      return { json: userView(user), objects: [userObject(user)] };
    },
    get: async ({ params }) => ({ json: userView(users.get(params.id)) }),
    update: async ({ params, body, principalNow }) => ({
      json: SUCCESS,
      objects: [userObject(await users.update(params.id, body, principalNow))],
    }),
    remove: async ({ params, principalNow }) => ({
      json: SUCCESS,
      objects: [userObject(await users.remove(params.id, principalNow))],
    }),
    setup: async ({ body }) => {
      if (!isSame(body.token, setupToken))
        throw new DomainError(
          'unauthorized',
          'The setup token is not valid. Use the one that the service printed at its last start, or, in a cluster, the one in its Secret.',
        );
      const user = await users.createFirst(body);
      if (user === undefined) throw notFound('There is nothing at this path now.');
      return { json: userView(user), objects: [userObject(user)], actor: userActor(user) };
    },
  });
  const isOpen = (): boolean => setupToken !== undefined && !users.hasUsers();
  return made.map((route) => (route.endpoint === userEndpoints.setup ? { ...route, exists: isOpen } : route));
}

/** A user in an audit record. */
export function userObject({ id, email }: UserRecord): { kind: 'User'; id: string; name: string } {
  return { kind: 'User', id, name: email };
}

export function userActor({ id, email }: UserRecord): AuditActor {
  return { type: 'user', id, name: email };
}

function isSame(given: string, token: string | undefined): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return token !== undefined && timingSafeEqual(digest(given), digest(token));
}
