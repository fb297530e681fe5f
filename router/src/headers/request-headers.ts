import { CONTEXT_HEADER, TOKEN_HEADER } from '@wherry/core/feed/invocation.ts';
import { holdsKey } from '../auth/carriers.ts';
import { hopByHop } from './hop-by-hop.ts';
import type { Peer } from './peer.ts';
import { eachHeader, headerValue, headerValues } from './raw-headers.ts';

/** What of a call decides about its headers. */
export interface RequestHeadersInput {
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
    if (keys.some((key) => holdsKey(lower, value, key))) return;
    headers.push(name, value);
  });
  const host = headerValue(rawHeaders, 'host');
  // HTTP/1.0 may leave it out; a function's request.url needs one.
  if (host === undefined) headers.push('Host', 'localhost');
  headers.push(...forwarded(rawHeaders, peer, host ?? 'localhost'));
  headers.push(TOKEN_HEADER, input.token, CONTEXT_HEADER, input.context);
  return headers;
}

/** Headers that only the router writes. `Forwarded` is passed on from a trusted proxy; the router writes none. */
function isRouters(lower: string, trusted: boolean): boolean {
  if (lower.startsWith('x-wherry-')) return true;
  if (lower === 'x-forwarded-for' || lower === 'x-forwarded-proto' || lower === 'x-forwarded-host') return true;
  return !trusted && (lower === 'forwarded' || lower.startsWith('x-forwarded-'));
}

/** `X-Forwarded-For`, `-Proto` and `-Host`: a trusted proxy's chain with the proxy added, else the peer alone. */
function forwarded(rawHeaders: readonly string[], peer: Peer, host: string): string[] {
  const chain = peer.trusted ? [...headerValues(rawHeaders, 'x-forwarded-for'), peer.address] : [peer.address];
  const named = peer.trusted ? headerValue(rawHeaders, 'x-forwarded-host') : undefined;
  return ['X-Forwarded-For', chain.join(', '), 'X-Forwarded-Proto', peer.scheme, 'X-Forwarded-Host', named ?? host];
}
