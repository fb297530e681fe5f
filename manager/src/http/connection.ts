import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { Peer } from './peer.ts';

/** How a browser reaches this service, as far as its request shows. */
export interface Connection {
  /** `host:port`, as the browser has it. */
  host: string;
  /**
   * The browser is on this machine and speaks plain HTTP, so that a `Secure` cookie may not reach it; or plain HTTP is
   * allowed.
   */
  isPlain: boolean;
  /** The page that sends the request is of this origin, or there is none (M4). */
  origin: 'same' | 'other' | 'unknown';
}

const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** @param allowPlain sign-in over plain HTTP is allowed from anywhere (`WHERRY_INSECURE_COOKIES`). */
export function connectionOf(request: IncomingMessage, peer: Peer, allowPlain: boolean): Connection {
  const { headers } = request;
  const forwarded = peer.isTrusted ? first(headers['x-forwarded-host']) : undefined;
  const host = (forwarded ?? headers.host ?? '').toLowerCase();
  return { host, isPlain: allowPlain || isOnThisMachine(request, peer), origin: originOf(request, host) };
}

/** A proxy may be on this machine too, and its browsers elsewhere: any sign of one counts. */
function isOnThisMachine({ headers }: IncomingMessage, { client }: Peer): boolean {
  if (!isLoopback(client ?? '') || !LOOPBACK_HOST.test(headers.host ?? '')) return false;
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false;
  // Its own page came over TLS: from a proxy that says nothing of itself.
  return !(headers.origin?.startsWith('https://') === true && headers['sec-fetch-site'] === 'same-origin');
}

/** Whether it is an address of this machine alone. */
export function isLoopback(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

function originOf({ headers }: IncomingMessage, host: string): Connection['origin'] {
  const site = first(headers['sec-fetch-site']);
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? 'same' : 'other';
  if (headers.origin === undefined) return 'unknown';
  return hostOf(headers.origin) === host ? 'same' : 'other';
}

/** Undefined for `null` and for anything that is no origin. */
function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
}

function first(header: string | string[] | undefined): string | undefined {
  return (Array.isArray(header) ? header[0] : header)?.split(',')[0]?.trim();
}
