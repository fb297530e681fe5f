import { clientAddress } from '@wherry/service/client-address.ts';
import { plainAddress, type TrustedNetworks } from '@wherry/service/trusted-networks.ts';
import { headerValue, headerValues } from './raw-headers.ts';

/** Who is at the other end, as far as that can be trusted. */
export interface Peer {
  /** The socket's own address. */
  address: string;
  /** It is in TRUSTED_PROXIES: what it reports about the caller is trusted. */
  trusted: boolean;
  /** The caller's address: the socket's, or the one that trusted proxies report. */
  client: string;
  scheme: 'http' | 'https';
}

/** Derives the caller from the socket's address and the headers of a trusted proxy. */
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
