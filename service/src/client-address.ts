import { isIP } from 'node:net';
import { plainAddress, type TrustedNetworks } from './trusted-networks.ts';

/**
 * The caller's address: the peer's own, or what proxies that are trusted say (`X-Forwarded-For`, all of its values
 * comma-separated). In a chain it is the nearest address that is not a trusted proxy: what precedes it may be invented
 * by the caller.
 */
export function clientAddress(peer: string, forwardedFor: string, trusts: TrustedNetworks): string {
  let client = plainAddress(peer);
  if (!trusts(client)) return client;
  for (const hop of forwardedFor.split(',').map(addressOf).reverse()) {
    if (isIP(hop) === 0) break;
    client = hop;
    if (!trusts(hop)) break;
  }
  return client;
}

/** An entry without the port that some proxies add: `192.0.2.1:80`, `[2001:db8::1]:80`. */
function addressOf(entry: string): string {
  const text = entry.trim();
  const [, ipv4, ipv6] = /^(?:([\d.]+)|\[([^\]]+)\])(?::\d{1,5})?$/.exec(text) ?? [];
  return plainAddress(ipv4 ?? ipv6 ?? text);
}
