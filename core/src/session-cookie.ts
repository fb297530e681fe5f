/** The cookie of a session on the management port, over plain HTTP on the same machine. */
export const SESSION_COOKIE = 'wherry_session';

/** Of a browser that reaches the service over TLS: neither another path, another host nor plain HTTP can set it. */
export const SECURE_PREFIX = '__Host-';

/**
 * Whether a `name=value` is the cookie of a session. Browsers send a cookie to every port of its host, also to the
 * function port.
 */
export function isSessionCookie(cookie: string): boolean {
  const name = cookie.split('=', 1)[0]?.trim();
  return name === SESSION_COOKIE || name === `${SECURE_PREFIX}${SESSION_COOKIE}`;
}
