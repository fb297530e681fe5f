import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CONTEXT_HEADER, TOKEN_HEADER, type InvocationContext } from '@wherry/core/feed/invocation.ts';

/** Makes the check of a call's invocation token (S2). The time it takes tells nothing of the token. */
export function tokenCheck(token: string): (incoming: IncomingMessage) => boolean {
  const expected = Buffer.from(token);
  return (incoming) => {
    const given = incoming.headers[TOKEN_HEADER];
    if (typeof given !== 'string') return false;
    const bytes = Buffer.from(given);
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  };
}

/** What the router says of the call; undefined when it says nothing that can be read. Believed: the token was right. */
export function readContext(incoming: IncomingMessage): InvocationContext | undefined {
  const header = incoming.headers[CONTEXT_HEADER];
  if (typeof header !== 'string') return undefined;
  try {
    const context = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as InvocationContext;
    return typeof context.requestId === 'string' && typeof context.timeoutMs === 'number' ? context : undefined;
  } catch {
    return undefined;
  }
}
