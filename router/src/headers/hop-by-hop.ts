import { headerValues } from './raw-headers.ts';

/**
 * Headers that end at this hop (RFC 9110 7.6.1), with the ways in which clients request what a proxy answers itself.
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
/** A peer that names these in `Connection` would take the message's own frame apart. */
const NEVER_DROPPED = new Set(['host', 'content-length', 'content-type']);

/**
 * Which headers of a message do not go on (R4): hop-by-hop ones, and those that its `Connection` headers name.
 * What the router adds is not among them: it is added afterwards.
 */
export function hopByHop(rawHeaders: readonly string[]): (lowerName: string) => boolean {
  let named: Set<string> | undefined;
  for (const value of headerValues(rawHeaders, 'connection')) {
    // What nearly every caller says names no header.
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
