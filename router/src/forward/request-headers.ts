import { CONTEXT_HEADER, TOKEN_HEADER } from '@wherry/core/feed/invocation.ts';
import { isManagementCookie } from '@wherry/core/management-cookies.ts';
import { holdsKey } from '../auth/carriers.ts';
import { mayHoldKey } from '../auth/held-keys.ts';
import { hopByHop } from './hop-by-hop.ts';
import type { Peer } from '../headers/peer.ts';
import { eachHeader, headerValue, headerValues } from '../headers/raw-headers.ts';

/** The parts of a call that determine its headers. */
interface RequestHeadersInput {
  rawHeaders: readonly string[];
  peer: Peer;
  /** The keys that the call carries; every header that holds one of them is dropped (R6). */
  keys: readonly string[];
  token: string;
  /** InvocationContext, encoded. */
  context: string;
}

/**
 * The headers that a function gets: the caller's, in their order and spelling, duplicates too, without those that are
 * hop-by-hop (R4), that a caller could forge (R5) or that contain a key or a cookie of the management port (R6); then the
 * router's own.
 */
export function requestHeaders(input: RequestHeadersInput): string[] {
  const { rawHeaders, peer, keys } = input;
  const endsHere = hopByHop(rawHeaders);
  const headers: string[] = [];
  eachHeader(rawHeaders, (lower, value, name) => {
    if (endsHere(lower) || isRouters(lower, peer.trusted)) return;
    if (keys.length > 0 && mayHoldKey(name) && holdsKey(name, keys)) return;
    const open = withoutManagementCookies(lower, value);
    const kept = open && withoutHeldKeys(lower, open, keys);
    if (kept !== undefined) headers.push(name, kept);
  });
  const named = headerValue(rawHeaders, 'host');
  const host = named === undefined ? undefined : withoutHeldKeys('host', named, keys);
  // HTTP/1.0 may omit it, and one that is a key is dropped; but a function's request.url needs one.
  if (host === undefined) headers.push('Host', 'localhost');
  headers.push(...forwarded(input, host ?? 'localhost'));
  headers.push(TOKEN_HEADER, input.token, CONTEXT_HEADER, input.context);
  return headers;
}

/**
 * A header's value as a function may see it: a cookie that contains a key is removed, the others stay.
 * @returns undefined when nothing is left.
 */
function withoutHeldKeys(lower: string, value: string, keys: readonly string[]): string | undefined {
  if (!holdsKey(value, keys)) return value;
  if (lower !== 'cookie') return undefined;
  const kept = value
    .split(';')
    .filter((cookie) => !holdsKey(cookie, keys))
    .join(';')
    .trim();
  return kept === '' || holdsKey(kept, keys) ? undefined : kept;
}

/**
 * A header's value without the cookies of the management port; as it is where it has none.
 * @returns undefined when nothing is left.
 */
function withoutManagementCookies(lower: string, value: string): string | undefined {
  if (lower !== 'cookie') return value;
  const cookies = value.split(';');
  const kept = cookies.filter((cookie) => !isManagementCookie(cookie));
  if (kept.length === cookies.length) return value;
  return kept.length === 0 ? undefined : kept.join(';').trim();
}

/** Headers that only the router writes. `Forwarded` is passed on from a trusted proxy; the router writes none. */
function isRouters(lower: string, trusted: boolean): boolean {
  if (lower.startsWith('x-wherry-')) return true;
  if (lower === 'x-forwarded-for' || lower === 'x-forwarded-proto' || lower === 'x-forwarded-host') return true;
  return !trusted && (lower === 'forwarded' || lower.startsWith('x-forwarded-'));
}

/** `X-Forwarded-For`, `-Proto` and `-Host`: a trusted proxy's chain with the proxy added, otherwise only the peer. */
function forwarded({ rawHeaders, peer, keys }: RequestHeadersInput, host: string): string[] {
  if (!peer.trusted) return forwardedBy(peer, peer.address, host);
  const unheld = (lower: string): string[] =>
    headerValues(rawHeaders, lower).filter((value) => withoutHeldKeys(lower, value, keys) !== undefined);
  const [named] = unheld('x-forwarded-host');
  return forwardedBy(peer, [...unheld('x-forwarded-for'), peer.address].join(', '), named ?? host);
}

function forwardedBy({ scheme }: Peer, chain: string, host: string): string[] {
  return ['X-Forwarded-For', chain, 'X-Forwarded-Proto', scheme, 'X-Forwarded-Host', host];
}
