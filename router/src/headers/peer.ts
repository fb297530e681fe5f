import { BlockList, isIP } from 'node:net';
import { headerValue, headerValues } from './raw-headers.ts';

/** Who is at the other end, as far as it can be believed. */
export interface Peer {
  /** The socket's own address. */
  address: string;
  /** It is in TRUSTED_PROXIES: what it says about the caller is believed. */
  trusted: boolean;
  /** The caller's address: the socket's, or what trusted proxies say. */
  client: string;
  scheme: 'http' | 'https';
}

/** Tells the addresses of trusted proxies. */
export type TrustedProxies = (address: string) => boolean;

/** @param networks addresses or CIDR blocks. @throws RangeError naming one that is neither. */
export function trustedProxies(networks: readonly string[]): TrustedProxies {
  if (networks.length === 0) return () => false;
  const list = new BlockList();
  for (const network of networks) addNetwork(list, network);
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Reads the caller off a socket's address and the headers of a trusted proxy. */
export function readPeer(remote: string | undefined, rawHeaders: readonly string[], trusts: TrustedProxies): Peer {
  const address = plainAddress(remote ?? '');
  if (!trusts(address)) return { address, trusted: false, client: address, scheme: 'http' };
  const proto = headerValue(rawHeaders, 'x-forwarded-proto')?.split(',').at(-1)?.trim().toLowerCase();
  return {
    address,
    trusted: true,
    client: clientBehind(address, rawHeaders, trusts),
    scheme: proto === 'https' ? 'https' : 'http',
  };
}

/** The nearest address in the chain that is not one of ours: what stands before it was the caller's to invent. */
function clientBehind(address: string, rawHeaders: readonly string[], trusts: TrustedProxies): string {
  const chain = headerValues(rawHeaders, 'x-forwarded-for').join(',').split(',').map((hop) => plainAddress(hop.trim()));
  let client = address;
  for (const hop of chain.reverse()) {
    if (isIP(hop) === 0) break;
    client = hop;
    if (!trusts(hop)) break;
  }
  return client;
}

/** IPv4 inside IPv6, as dual-stack sockets give it, is IPv4. */
function plainAddress(address: string): string {
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address;
}

function addNetwork(list: BlockList, network: string): void {
  const [address = '', prefix] = network.split('/', 2);
  const version = isIP(address);
  const width = version === 6 ? 128 : 32;
  const bits = prefix === undefined ? width : Number(prefix);
  if (version === 0 || !/^[^/]+(?:\/\d{1,3})?$/.test(network) || bits > width) {
    throw new RangeError(`${network} is not an address or a CIDR block`);
  }
  list.addSubnet(address, bits, version === 6 ? 'ipv6' : 'ipv4');
}
