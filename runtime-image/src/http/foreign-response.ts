import type { ResponseParts } from './light-response.ts';

/** What every implementation of Response has. */
interface ResponseLike {
  status: number;
  statusText?: string;
  headers: Iterable<[string, string]>;
  body: object | null;
  bodyUsed?: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/**
 * The parts of a Response of another implementation, as frameworks and clients bring with them (GraphQL Yoga, undici,
 * node-fetch). Undefined for a value that is not a Response. A body may be a web stream or one of Node's.
 */
export function foreignParts(value: object): ResponseParts | undefined {
  if (!isResponseLike(value)) return undefined;
  if (value.bodyUsed === true) throw new TypeError('The body of the Response has already been read.');
  const { status, statusText = '', headers, body } = value;
  return { status, statusText, headers, body: body === null ? null : webStream(body) };
}

function isResponseLike(value: Partial<ResponseLike>): value is ResponseLike {
  const { status, headers, body } = value;
  return (
    typeof status === 'number' &&
    typeof body === 'object' &&
    typeof headers === 'object' &&
    Symbol.iterator in headers &&
    typeof value.arrayBuffer === 'function'
  );
}

function webStream(body: object): ReadableStream {
  return 'getReader' in body ? (body as ReadableStream) : ReadableStream.from(body as AsyncIterable<unknown>);
}
