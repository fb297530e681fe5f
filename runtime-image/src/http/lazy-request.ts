import type { IncomingMessage } from 'node:http';
import { bodyStream, hasBody, readBody } from './read-body.ts';
import { realRequest } from './real-globals.ts';
import { RequestHeaders } from './request-headers.ts';

interface LazyRequestParts {
  incoming: IncomingMessage;
  /** As the handler sees it. */
  method: string;
  url: string;
  signal: () => AbortSignal;
}

/**
 * A web Request that costs little while nothing but its url, method, headers and whole body are read; anything else
 * makes the real one (36 µs). `webGlobals` makes it pass for one.
 */
export class LazyRequest {
  readonly #parts: LazyRequestParts;
  #headers: RequestHeaders | undefined;
  #real: Request | undefined;
  #consumed = false;

  constructor(parts: LazyRequestParts) {
    this.#parts = parts;
  }

  static isOne(value: unknown): value is LazyRequest {
    return typeof value === 'object' && value !== null && #parts in value;
  }

  get method(): string {
    return this.#parts.method;
  }

  get url(): string {
    return this.#parts.url;
  }

  get headers(): Headers {
    if (this.#real !== undefined) return this.#real.headers;
    return (this.#headers ??= new RequestHeaders(this.#parts.incoming));
  }

  get signal(): AbortSignal {
    return this.#parts.signal();
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.real().body;
  }

  get bodyUsed(): boolean {
    return this.#consumed || (this.#real?.bodyUsed ?? false);
  }

  async text(): Promise<string> {
    if (this.#real !== undefined) return this.#real.text();
    return new TextDecoder().decode(await this.#consume());
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text()) as unknown;
  }

  async bytes(): Promise<Uint8Array> {
    if (this.#real !== undefined) return new Uint8Array(await this.#real.arrayBuffer());
    return new Uint8Array(await this.#consume());
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer as ArrayBuffer;
  }

  async blob(): Promise<Blob> {
    return this.real().blob();
  }

  async formData(): Promise<FormData> {
    return this.real().formData();
  }

  clone(): Request {
    return this.real().clone();
  }

  get [Symbol.toStringTag](): string {
    return 'Request';
  }

  /** The real one; from then on everything goes through it. */
  real(): Request {
    if (this.#real !== undefined) return this.#real;
    const { incoming, method, url } = this.#parts;
    const RealRequest = realRequest();
    const body = method === 'GET' || method === 'HEAD' || !hasBody(incoming) ? null : this.#bodyStream(incoming);
    const headers = [...this.headers.entries()];
    this.#real = new RealRequest(url, { method, headers, body, duplex: 'half', signal: this.signal });
    return this.#real;
  }

  /** A body that was read already is a stream that was read already. */
  #bodyStream(incoming: IncomingMessage): ReadableStream<Uint8Array> {
    if (this.#consumed) throw new TypeError('Body is unusable: Body has already been read');
    return bodyStream(incoming);
  }

  async #consume(): Promise<Buffer> {
    if (this.#consumed) throw new TypeError('Body is unusable: Body has already been read');
    const { incoming } = this.#parts;
    if (!hasBody(incoming)) return Buffer.alloc(0);
    this.#consumed = true;
    return readBody(incoming);
  }
}

for (const [name, value] of Object.entries({
  cache: 'default',
  credentials: 'same-origin',
  destination: '',
  integrity: '',
  keepalive: false,
  mode: 'cors',
  redirect: 'follow',
  referrer: 'about:client',
  referrerPolicy: '',
  duplex: 'half',
})) {
  Object.defineProperty(LazyRequest.prototype, name, { value, configurable: true });
}
