import { isIP } from 'node:net';
import { plainAddress, type TrustedNetworks } from './trusted-networks.ts';

/**
 * The caller's address: the peer's own, or what proxies that are trusted say (`X-Forwarded-For`, all of its values
 * comma-separated). Of a chain it is the nearest address that is not one of ours: what stands before it was the
 * caller's to invent.
 */
export function clientAddress(peer: string, forwardedFor: string, trusts: TrustedNetworks): string {
  let client = plainAddress(peer);
  if (!trusts(client)) return client;
  for (const hop of forwardedFor
    .split(',')
    .map((text) => plainAddress(text.trim()))
    .reverse()) {
    if (isIP(hop) === 0) break;
    client = hop;
    if (!trusts(hop)) break;
  }
  return client;
}
