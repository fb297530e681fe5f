/** Who a request acts for: a management key, or a signed-in user. */
export type Principal =
  | { type: 'key'; id: string; name: string; groupId: string; groupName: string }
  | { type: 'user'; id: string; email: string; administrator: boolean };

/**
 * What a route requires of its caller. `public`: it authenticates in another way (a webhook's signature). `manage`: any
 * management key and any user. `administer`: any management key and administrators.
 */
export type Permission = 'public' | 'manage' | 'administer';

/** Whether the caller may use a route at all; undefined is a caller without valid credentials. */
export function mayUse(permission: Permission, principal: Principal | undefined): boolean {
  if (permission === 'administer' && principal?.type === 'user') return principal.administrator;
  return permission === 'public' || principal !== undefined;
}
