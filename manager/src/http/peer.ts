import type { IncomingMessage } from 'node:http';
import { PEER_HEADER } from '@wherry/core/feed/invocation.ts';
import { clientAddress } from '@wherry/service/client-address.ts';
import { plainAddress, type TrustedNetworks } from '@wherry/service/trusted-networks.ts';

/** Who is at the other end, as far as that can be trusted. */
export interface Peer {
  /** The caller's address; null where the connection is gone already. */
  client: string | null;
  /** What it reports about the caller is trusted: it is in TRUSTED_PROXIES. */
  isTrusted: boolean;
}

/** @param isBehindRouter only the router can connect: the peer is the one that it names, not the router. */
export function readPeer({
  trusted,
  isBehindRouter,
}: {
  trusted: TrustedNetworks;
  isBehindRouter: boolean;
}): (request: IncomingMessage) => Peer {
  return ({ headers, socket }) => {
    const peer = isBehindRouter ? headers[PEER_HEADER] : socket.remoteAddress;
    if (typeof peer !== 'string') return { client: null, isTrusted: false };
    const forwardedFor = headers['x-forwarded-for'];
    const chain = Array.isArray(forwardedFor) ? forwardedFor.join(',') : (forwardedFor ?? '');
    return { client: clientAddress(peer, chain, trusted), isTrusted: trusted(plainAddress(peer)) };
  };
}
