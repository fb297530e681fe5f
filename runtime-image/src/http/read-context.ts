import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CONTEXT_HEADER, TOKEN_HEADER, type InvocationContext } from '@wherry/core/feed/invocation.ts';

/** The invocation tokens that a router may show (S2): the last one that the feed sent, and the one before it. */
export class InvocationTokens {
  #current: Buffer | undefined;
  #previous: Buffer | undefined;

  /** From now on; routers that have not learned it yet still show the one before. */
  accept(token: string): void {
    const next = Buffer.from(token);
    if (this.#current?.equals(next) === true) return;
    this.#previous = this.#current;
    this.#current = next;
  }

  /** Whether the call shows one. The time that the check takes reveals nothing about the tokens. */
  isShownBy(incoming: IncomingMessage): boolean {
    const given = incoming.headers[TOKEN_HEADER];
    if (typeof given !== 'string') return false;
    const bytes = Buffer.from(given);
    return isSame(bytes, this.#current) || isSame(bytes, this.#previous);
  }
}

function isSame(given: Buffer, token: Buffer | undefined): boolean {
  return token !== undefined && given.length === token.length && timingSafeEqual(given, token);
}

/** What the router says of the call; undefined when it cannot be parsed. It is trusted, because the token was right. */
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
