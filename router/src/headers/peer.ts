import { clientAddress } from '@wherry/service/client-address.ts';
import { plainAddress, type TrustedNetworks } from '@wherry/service/trusted-networks.ts';
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

/** Reads the caller off a socket's address and the headers of a trusted proxy. */
export function readPeer(remote: string | undefined, rawHeaders: readonly string[], trusts: TrustedNetworks): Peer {
  const address = plainAddress(remote ?? '');
  if (!trusts(address)) return { address, trusted: false, client: address, scheme: 'http' };
  const proto = headerValue(rawHeaders, 'x-forwarded-proto')?.split(',').at(-1)?.trim().toLowerCase();
  return {
    address,
    trusted: true,
    client: clientAddress(address, headerValues(rawHeaders, 'x-forwarded-for').join(','), trusts),
    scheme: proto === 'https' ? 'https' : 'http',
  };
}
