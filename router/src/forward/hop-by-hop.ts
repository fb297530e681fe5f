import { headerValues } from '../headers/raw-headers.ts';

/**
 * Headers that end at this hop (RFC 9110 7.6.1), and those that address proxies.
 */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'http2-settings',
]);
/** A peer that names these in `Connection` would break the framing of the message. */
const NEVER_DROPPED = new Set(['host', 'content-length', 'content-type']);

/**
 * Which headers of a message are not forwarded (R4): hop-by-hop ones, and those that its `Connection` headers name.
 * What the router adds is not among them: it is added afterwards.
 */
export function hopByHop(rawHeaders: readonly string[]): (lowerName: string) => boolean {
  let named: Set<string> | undefined;
  for (const value of headerValues(rawHeaders, 'connection')) {
    // What nearly every caller sends names no header.
    if (value === 'keep-alive' || value === 'close') continue;
    named ??= new Set();
    for (const option of value.toLowerCase().split(',')) named.add(option.trim());
  }
  if (named === undefined) return isHopByHop;
  const dropped = named;
  return (lowerName) => HOP_BY_HOP.has(lowerName) || (dropped.has(lowerName) && !NEVER_DROPPED.has(lowerName));
}

function isHopByHop(lowerName: string): boolean {
  return HOP_BY_HOP.has(lowerName);
}
