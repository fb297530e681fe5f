import { parse, serialize } from 'cookie';
import type { IncomingMessage } from 'node:http';
import { SECURE_PREFIX } from '@wherry/core/management-cookies.ts';
import type { Connection } from '../http/connection.ts';

/** The text of a Set-Cookie header (M3). @param seconds how long the browser keeps it; 0 removes it. */
export function setCookie(
  name: string,
  value: string,
  { seconds, connection }: { seconds: number; connection: Connection },
): string {
  return serialize(cookieName(name, connection), value, {
    path: '/',
    httpOnly: true,
    secure: !connection.isPlain,
    sameSite: 'lax',
    maxAge: seconds,
  });
}

/** The cookie's value; undefined where the request has none. One without the prefix counts over plain HTTP alone. */
export function readCookie(name: string, request: IncomingMessage, connection: Connection): string | undefined {
  const header = request.headers.cookie;
  return header === undefined ? undefined : parse(header)[cookieName(name, connection)];
}

function cookieName(name: string, { isPlain }: Connection): string {
  return isPlain ? name : `${SECURE_PREFIX}${name}`;
}
