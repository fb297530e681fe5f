import { BlockList, isIP } from 'node:net';
import * as z from 'zod';

/** Returns whether an address is in one of the networks. IPv4 inside IPv6, as dual-stack sockets give it, is IPv4. */
export type TrustedNetworks = (address: string | undefined) => boolean;

/**
 * @param networks addresses and CIDR blocks, of either family.
 * @throws RangeError naming one that is neither.
 */
export function trustedNetworks(networks: readonly string[]): TrustedNetworks {
  if (networks.length === 0) return () => false;
  const list = new BlockList();
  for (const network of networks) add(list, network);
  return (address) => {
    const plain = plainAddress(address ?? '');
    const version = isIP(plain);
    return version !== 0 && list.check(plain, version === 6 ? 'ipv6' : 'ipv4');
  };
}

/** IPv4 inside IPv6 as IPv4, in whichever way it is written. */
export function plainAddress(address: string): string {
  if (!address.includes(':')) return address;
  // As sockets give it.
  if (/^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address)) return address.slice(7);
  const [, last] = /^[0:]*:ffff:([0-9a-f]{1,4}:[0-9a-f]{1,4}|[\d.]+)$/i.exec(address) ?? [];
  if (last === undefined || isIP(address) !== 6) return address;
  return last.includes('.') ? last : dotted(last);
}

function dotted(groups: string): string {
  const bytes = Buffer.alloc(4);
  for (const [at, group] of groups.split(':').entries()) bytes.writeUInt16BE(parseInt(group, 16), 2 * at);
  return bytes.join('.');
}

/** The variable `TRUSTED_PROXIES`: networks, comma-separated. */
export const trustedProxiesVariable = z
  .string()
  .max(4096)
  .default('')
  .transform((text) => text.split(',').flatMap((network) => network.trim() || []))
  .superRefine((networks, context) => {
    try {
      trustedNetworks(networks);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as RangeError).message });
    }
  });

function add(list: BlockList, network: string): void {
  const [address = '', bits, ...rest] = network.split('/');
  const version = isIP(address);
  const most = version === 6 ? 128 : 32;
  const prefix = bits === undefined ? most : Number(bits);
  if (version === 0 || rest.length > 0 || !/^\d{1,3}$/.test(bits ?? '0') || prefix > most) {
    throw new RangeError(`${network} is not an IP address or a network such as 10.0.0.0/8`);
  }
  list.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4');
}
