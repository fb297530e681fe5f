import type { IncomingMessage } from 'node:http';
import type { Role } from '../users/user-record.ts';
import type { Connection } from './connection.ts';

/** Who a request acts for: a management key, or a signed-in user. */
export type Principal =
  | { type: 'key'; id: string; name: string; groupId: string; groupName: string }
  | {
      type: 'user';
      id: string;
      email: string;
      role: Role;
      /** Of the session's id. */
      session: string;
    };

/**
 * Whom the credentials of a request identify. `use`: the request that brings them. `check`: whether they still hold,
 * while its answer goes on; this keeps no session alive.
 */
export type Authenticate = (
  request: IncomingMessage,
  connection: Connection,
  purpose: 'use' | 'check',
) => Principal | undefined;

export type UserPrincipal = Extract<Principal, { type: 'user' }>;

/** A caller as permissions distinguish them. `anonymous`: without valid credentials. */
export type CallerKind = 'anonymous' | Role | 'key';

/** Which callers may use a route, by the permission that it declares (M5). */
export const PERMISSIONS = {
  /** It authenticates in another way, or is how one signs in. */
  public: ['anonymous', 'viewer', 'editor', 'admin', 'key'],
  /** It reads, and no values of keys or secrets; or it decides itself what each user may do (their own password). */
  read: ['viewer', 'editor', 'admin', 'key'],
  /** It changes something, or reads values. */
  edit: ['editor', 'admin', 'key'],
  administer: ['admin', 'key'],
  /** It is about the session of the request. */
  session: ['viewer', 'editor', 'admin'],
} as const satisfies Record<string, readonly CallerKind[]>;
export type Permission = keyof typeof PERMISSIONS;

function callerKind(principal: Principal | undefined): CallerKind {
  if (principal === undefined) return 'anonymous';
  return principal.type === 'key' ? 'key' : principal.role;
}

/** Whether the caller may use a route at all; undefined is a caller without valid credentials. */
export function mayUse(permission: Permission, principal: Principal | undefined): boolean {
  const callers: readonly CallerKind[] = PERMISSIONS[permission];
  return callers.includes(callerKind(principal));
}
