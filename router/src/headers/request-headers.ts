import { CONTEXT_HEADER, TOKEN_HEADER } from '@wherry/core/feed/invocation.ts';
import { holdsKey } from '../auth/carriers.ts';
import { hopByHop } from './hop-by-hop.ts';
import type { Peer } from './peer.ts';
import { eachHeader, headerValue, headerValues } from './raw-headers.ts';

/** What of a call decides about its headers. */
interface RequestHeadersInput {
  rawHeaders: readonly string[];
  peer: Peer;
  /** The keys that the call carries; every header that holds one of them stays here (R6). */
  keys: readonly string[];
  token: string;
  /** InvocationContext, encoded. */
  context: string;
}

/**
 * The headers that a function gets: the caller's, in their order and spelling, duplicates too, without those that end
 * here (R4), that a caller could forge (R5) or that hold a key (R6); then the router's own.
 */
export function requestHeaders(input: RequestHeadersInput): string[] {
  const { rawHeaders, peer, keys } = input;
  const endsHere = hopByHop(rawHeaders);
  const headers: string[] = [];
  eachHeader(rawHeaders, (lower, value, name) => {
    if (endsHere(lower) || isRouters(lower, peer.trusted)) return;
    const kept = withoutHeldKeys(lower, value, keys);
    if (kept !== undefined) headers.push(name, kept);
  });
  const named = headerValue(rawHeaders, 'host');
  const host = named === undefined ? undefined : withoutHeldKeys('host', named, keys);
  // HTTP/1.0 may leave it out, and one that is a key stays here; a function's request.url needs one.
  if (host === undefined) headers.push('Host', 'localhost');
  headers.push(...forwarded(input, host ?? 'localhost'));
  headers.push(TOKEN_HEADER, input.token, CONTEXT_HEADER, input.context);
  return headers;
}

/**
 * A header's value as a function may see it: a cookie that holds a key goes, the others stay.
 * @returns undefined when all of it goes.
 */
function withoutHeldKeys(lower: string, value: string, keys: readonly string[]): string | undefined {
  const holds = (text: string): boolean => holdsKey(text, keys);
  if (!holds(value)) return value;
  if (lower !== 'cookie') return undefined;
  const kept = value
    .split(';')
    .filter((cookie) => !holds(cookie))
    .join(';')
    .trim();
  return kept === '' || holds(kept) ? undefined : kept;
}

/** Headers that only the router writes. `Forwarded` is passed on from a trusted proxy; the router writes none. */
function isRouters(lower: string, trusted: boolean): boolean {
  if (lower.startsWith('x-wherry-')) return true;
  if (lower === 'x-forwarded-for' || lower === 'x-forwarded-proto' || lower === 'x-forwarded-host') return true;
  return !trusted && (lower === 'forwarded' || lower.startsWith('x-forwarded-'));
}

/** `X-Forwarded-For`, `-Proto` and `-Host`: a trusted proxy's chain with the proxy added, else the peer alone. */
function forwarded({ rawHeaders, peer, keys }: RequestHeadersInput, host: string): string[] {
  const trustedValues = (lower: string): string[] =>
    peer.trusted
      ? headerValues(rawHeaders, lower).filter((value) => withoutHeldKeys(lower, value, keys) !== undefined)
      : [];
  const chain = [...trustedValues('x-forwarded-for'), peer.address];
  const [named] = trustedValues('x-forwarded-host');
  return ['X-Forwarded-For', chain.join(', '), 'X-Forwarded-Proto', peer.scheme, 'X-Forwarded-Host', named ?? host];
}
