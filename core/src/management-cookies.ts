/** The cookie of a session on the management port, over plain HTTP on the same machine. */
export const SESSION_COOKIE = 'wherry_session';

/** The cookie of a sign-in with OpenID Connect that is under way. */
export const SIGN_IN_COOKIE = 'wherry_oidc';

/** Of a browser that reaches the service over TLS: neither another path, another host nor plain HTTP can set it. */
export const SECURE_PREFIX = '__Host-';

const NAMES = new Set([SESSION_COOKIE, SIGN_IN_COOKIE].flatMap((name) => [name, SECURE_PREFIX + name]));

/**
 * Whether a `name=value` is a cookie of the management port. Browsers send a cookie to every port of its host, also to
 * the function port. They store `=name=value` as a value without a name, and send it as `name=value`.
 */
export function isManagementCookie(cookie: string): boolean {
  const [name = ''] = cookie.replace(/^[\s=]+/, '').split('=', 1);
  return NAMES.has(name.trim());
}
