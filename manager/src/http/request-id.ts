import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The networks of `TRUSTED_PROXIES`.
 * @param networks addresses and CIDRs, of either family.
 * @throws RangeError naming one that is neither.
 */
export function trustedNetworks(networks: readonly string[]): (address: string | undefined) => boolean {
  const list = new BlockList();
  for (const network of networks) add(list, network);
  return (address) => {
    const plain = address?.replace(/^::ffff:(?=\d+\.)/, '') ?? '';
    const version = isIP(plain);
    return version !== 0 && list.check(plain, version === 6 ? 'ipv6' : 'ipv4');
  };
}

function add(list: BlockList, network: string): void {
  const [address = '', bits, ...rest] = network.split('/');
  const version = isIP(address);
  const most = version === 6 ? 128 : 32;
  const prefix = bits === undefined ? most : Number(bits);
  if (version === 0 || rest.length > 0 || !/^\d{1,3}$/.test(bits ?? '0') || prefix > most) {
    throw new RangeError(`${network} is not an address or network (10.0.0.0/8)`);
  }
  list.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4');
}

/** The id of a request: a trusted proxy's own where it is a UUID, else a new one. */
export function requestIdOf(request: IncomingMessage, trusted: (address: string | undefined) => boolean): string {
  const given = request.headers['x-request-id'];
  const keep = typeof given === 'string' && UUID.test(given) && trusted(request.socket.remoteAddress);
  return keep ? given.toLowerCase() : randomUUID();
}
