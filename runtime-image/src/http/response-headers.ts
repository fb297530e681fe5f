import type { ResponseParts } from './light-response.ts';

/** The connection belongs to the runtime; the other headers are between it and the router. */
const NOT_THE_HANDLERS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The answer's headers as Node's `writeHead` takes them: name, value, name, value. Values are not checked yet. */
export function responseHeaders({ headers, body }: Pick<ResponseParts, 'headers' | 'body'>): string[] {
  const flat: string[] = [];
  const add = (name: string, value: string): void => {
    const key = name.toLowerCase();
    if (NOT_THE_HANDLERS.has(key) || key.startsWith('x-wherry-')) return;
    // The length of a body that is in memory is computed, not taken from the headers.
    if (key === 'content-length' && body !== null && isWhole(body)) return;
    flat.push(key, String(value));
  };
  for (const [name, value] of headers) add(name, value);
  if (body !== null && isWhole(body)) flat.push('content-length', String(Buffer.byteLength(body)));
  return flat;
}

export const isWhole = (body: unknown): body is string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array;
