import type { CustomFetch } from 'openid-client';
import { isLoopback } from '../http/connection.ts';

/** A provider's documents have a few KiB. */
const MAX_BYTES = 1024 * 1024;

/** Whether nobody on the way can read or change what is sent: TLS, or this machine. */
export function isProtected({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && (hostname === 'localhost' || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1')));
}

/**
 * As `fetch`, for requests to a provider: protected ones alone, wherever its documents point, without redirects, and with
 * a bounded answer. The caller's signal bounds the time, until the whole answer is there.
 * @throws TypeError
 */
export const boundedFetch: CustomFetch = async (url, options) => {
  if (!isProtected(new URL(url))) throw new TypeError(`${new URL(url).origin} is not https`);
  const response = await fetch(url, { ...options, redirect: 'manual' } as RequestInit);
  const body = await readAtMost(response.body, MAX_BYTES);
  return new Response(body.length === 0 ? null : body, response);
};

async function readAtMost(body: ReadableStream<Uint8Array> | null, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > most) throw new TypeError(`the answer is longer than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
