import { realHeaders, realResponse } from './real-globals.ts';
import type { BodyInit, HeadersInit } from './web-types.ts';

type LightBody = string | Uint8Array | ReadableStream | null;

/** What an answer consists of, before a real Response was needed. */
export interface ResponseParts {
  status: number;
  statusText: string;
  headers: HeadersInit | undefined;
  body: LightBody;
}

const NULL_BODY = new Set([101, 204, 205, 304]);

/**
 * The global `Response` of handlers: it holds what it was made of, which is all that an answer needs; whatever else is
 * asked of it goes to a real Response that is made then (36 µs and, the first time, 7 MiB).
 */
export class LightResponse {
  readonly #status: number;
  readonly #statusText: string;
  readonly #body: LightBody = null;
  #headers: HeadersInit | undefined;
  /** Whether `#headers` is a Headers that nobody else holds. */
  #own = false;
  #real: Response | undefined;

  constructor(body?: BodyInit | null, init?: ResponseInit) {
    this.#status = statusOf(init);
    this.#statusText = init?.statusText ?? '';
    this.#headers = headersOf(init);
    if (body === undefined || body === null) return;
    if (NULL_BODY.has(this.#status)) throw new TypeError(`Response: a status of ${this.#status} has no body`);
    if (typeof body === 'string' || body instanceof Uint8Array || isStream(body)) this.#body = body as LightBody;
    else {
      const RealResponse = realResponse();
      this.#real = new RealResponse(body, this.#init());
    }
  }

  /** The parts, while they are all there is: undefined for a real Response. */
  static parts(response: object): ResponseParts | undefined {
    if (!(#status in response) || response.#real !== undefined) return undefined;
    return {
      status: response.#status,
      statusText: response.#statusText,
      headers: response.#headers,
      body: response.#body,
    };
  }

  /** The real Response behind the value; undefined when it is none. */
  static unwrap(value: unknown): Response | undefined {
    if (typeof value !== 'object' || value === null) return undefined;
    if (#status in value) return value.#materialise();
    return value instanceof realResponse() ? value : undefined;
  }

  static isOne(value: unknown): boolean {
    return typeof value === 'object' && value !== null && #status in value;
  }

  static [Symbol.hasInstance](value: unknown): boolean {
    return LightResponse.isOne(value) || value instanceof realResponse();
  }

  static json(data: unknown, init?: ResponseInit): LightResponse {
    const body = JSON.stringify(data) as string | undefined;
    if (body === undefined) throw new TypeError('Response.json: the value has no JSON form');
    if (init?.headers === undefined) return new LightResponse(body, { ...init, headers: { 'content-type': 'application/json' } });
    const RealHeaders = realHeaders();
    const headers = new RealHeaders(init.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new LightResponse(body, { ...init, headers });
  }

  static redirect(url: string | URL, status = 302): LightResponse {
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Response.redirect: not a redirect's status: ${status}`);
    return new LightResponse(null, { status, headers: { location: new URL(url).href } });
  }

  static error(): Response {
    return realResponse().error();
  }

  get status(): number {
    return this.#status;
  }

  get statusText(): string {
    return this.#statusText;
  }

  get ok(): boolean {
    return this.#status >= 200 && this.#status < 300;
  }

  get headers(): Headers {
    if (this.#real !== undefined) return this.#real.headers;
    if (this.#own) return this.#headers as Headers;
    const headers = new (realHeaders())(this.#headers);
    if (typeof this.#body === 'string' && !headers.has('content-type')) headers.set('content-type', DEFAULT_TYPE);
    this.#headers = headers;
    this.#own = true;
    return headers;
  }

  get type(): Response['type'] {
    return 'default';
  }

  get url(): string {
    return '';
  }

  get redirected(): boolean {
    return false;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.#body === null && this.#real === undefined ? null : this.#materialise().body;
  }

  get bodyUsed(): boolean {
    return this.#real?.bodyUsed ?? false;
  }

  async text(): Promise<string> {
    return this.#materialise().text();
  }

  async json(): Promise<unknown> {
    return this.#materialise().json();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#materialise().arrayBuffer();
  }

  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(await this.arrayBuffer());
  }

  async blob(): Promise<Blob> {
    return this.#materialise().blob();
  }

  async formData(): Promise<FormData> {
    return this.#materialise().formData();
  }

  clone(): Response {
    return this.#materialise().clone();
  }

  get [Symbol.toStringTag](): string {
    return 'Response';
  }

  #init(): ResponseInit {
    return {
      status: this.#status,
      statusText: this.#statusText,
      ...(this.#headers === undefined ? {} : { headers: this.#headers }),
    };
  }

  #materialise(): Response {
    const RealResponse = realResponse();
    return (this.#real ??= new RealResponse(this.#body as BodyInit | null, this.#init()));
  }
}

/** What a text has for a content type when nothing names one. */
export const DEFAULT_TYPE = 'text/plain;charset=UTF-8';

function statusOf(init: ResponseInit | undefined): number {
  const status = init?.status ?? 200;
  if (!(status >= 200 && status <= 599)) throw new RangeError(`Response: the status must be 200 to 599, not ${status}`);
  return Math.trunc(status);
}

/** A Headers is copied, since its owner may change it; those that say how a fetched body was packed are left out. */
function headersOf(init: ResponseInit | Response | undefined): HeadersInit | undefined {
  const headers = init?.headers;
  if (headers === undefined || Array.isArray(headers) || isPlain(headers)) return headers;
  const copy = new (realHeaders())(headers);
  if (init !== undefined && 'url' in init && init.url !== '') dropEncoding(copy);
  return copy;
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** The body of a fetched answer is unpacked already: its length and encoding are no more what the headers say. */
export function dropEncoding(headers: Headers): void {
  if (!headers.has('content-encoding')) return;
  headers.delete('content-encoding');
  headers.delete('content-length');
}

const isStream = (body: object): boolean => 'getReader' in body;
