import { DEFAULT_TYPE, type ResponseParts } from './light-response.ts';
import type { HeadersInit } from './web-types.ts';

/** The connection is the runtime's own; the others are words between it and the router. */
const NOT_THE_HANDLERS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The answer's headers as Node's `writeHead` takes them: name, value, name, value. Values may hold anything yet. */
export function responseHeaders({ headers, body }: Pick<ResponseParts, 'headers' | 'body'>): string[] {
  const flat: string[] = [];
  let typed = false;
  const add = (name: string, value: string): void => {
    const key = name.toLowerCase();
    if (NOT_THE_HANDLERS.has(key) || key.startsWith('x-wherry-')) return;
    // The length of a body that is at hand is counted, not believed.
    if (key === 'content-length' && body !== null && isWhole(body)) return;
    if (key === 'content-type') typed = true;
    flat.push(key, String(value));
  };
  if (headers !== undefined) forEachHeader(headers, add);
  if (!typed && typeof body === 'string') flat.push('content-type', DEFAULT_TYPE);
  if (body !== null && isWhole(body)) flat.push('content-length', String(Buffer.byteLength(body)));
  return flat;
}

export const isWhole = (body: unknown): body is string | Uint8Array => typeof body === 'string' || body instanceof Uint8Array;

function forEachHeader(headers: HeadersInit, add: (name: string, value: string) => void): void {
  if (Symbol.iterator in headers) for (const [name, value] of headers as Iterable<[string, string]>) add(name, value);
  else for (const name of Object.keys(headers)) add(name, headers[name] as string);
}
