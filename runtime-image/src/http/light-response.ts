import { isTaken, plainParts, type PlainParts } from './plain-parts.ts';
import { realHeaders, realResponse, type BodyInit } from './real-globals.ts';

/** What an answer consists of. */
export interface ResponseParts extends Omit<PlainParts, 'headers'> {
  headers: Iterable<[string, string]>;
}

type RedirectStatus = Parameters<typeof Response.redirect>[1];

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * The global `Response` of handlers: it holds its constructor's arguments, which is all that an answer needs; any other
 * access creates a real Response and goes to it (36 µs and, the first time, 7 MiB). Arguments that are not plainly
 * valid go there at once, so it converts and refuses exactly what Node's own class does.
 */
export class LightResponse {
  #parts: PlainParts;
  /** Whether this is a redirect, whose headers cannot be changed. */
  #redirect = false;
  #real: Response | undefined;

  constructor(body?: BodyInit | null, init?: ResponseInit) {
    const parts = plainParts(body, init);
    if (parts === undefined) this.#real = new (realResponse())(body, init);
    this.#parts = parts ?? EMPTY;
  }

  /**
   * The parts of its answer; undefined for a value that is none of these.
   * @throws TypeError when its body was read.
   */
  static parts(response: object): ResponseParts | undefined {
    if (!(#parts in response)) return undefined;
    if (response.#real === undefined) return response.#parts;
    return { ...realParts(response.#real), headers: response.#ownHeaders ?? response.#real.headers };
  }

  static isOne(value: unknown): boolean {
    return typeof value === 'object' && value !== null && #parts in value;
  }

  static [Symbol.hasInstance](value: unknown): boolean {
    return LightResponse.isOne(value) || value instanceof realResponse();
  }

  static json(data: unknown, init?: ResponseInit): LightResponse | Response {
    const text = JSON.stringify(data) as string | undefined;
    const parts = text === undefined ? undefined : plainParts(text, init, 'application/json');
    return parts === undefined ? realResponse().json(data, init) : LightResponse.#of(parts);
  }

  static redirect(url: string | URL, status = 302): LightResponse | Response {
    const location = REDIRECTS.has(status) ? URL.parse(String(url))?.href : undefined;
    if (location === undefined) return realResponse().redirect(url, status as RedirectStatus);
    const response = LightResponse.#of({ ...EMPTY, status, headers: [['location', location]] });
    response.#redirect = true;
    return response;
  }

  static error(): Response {
    return realResponse().error();
  }

  static #of(parts: PlainParts): LightResponse {
    const response = new LightResponse();
    response.#parts = parts;
    return response;
  }

  get status(): number {
    return this.#real?.status ?? this.#parts.status;
  }

  get statusText(): string {
    return this.#real?.statusText ?? this.#parts.statusText;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get headers(): Headers {
    if (this.#ownHeaders !== undefined) return this.#ownHeaders;
    if (this.#redirect) return this.#materialise().headers;
    if (this.#real !== undefined) return this.#real.headers;
    const headers = new (realHeaders())(this.#parts.headers);
    this.#parts = { ...this.#parts, headers };
    return headers;
  }

  get type(): Response['type'] {
    return this.#real?.type ?? 'default';
  }

  get url(): string {
    return this.#real?.url ?? '';
  }

  get redirected(): boolean {
    return this.#real?.redirected ?? false;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.#parts.body === null && this.#real === undefined ? null : this.#materialise().body;
  }

  get bodyUsed(): boolean {
    const { body } = this.#parts;
    return this.#real?.bodyUsed ?? (body instanceof Object && 'getReader' in body && isTaken(body));
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
    return this.#materialise().bytes();
  }

  async blob(): Promise<Blob> {
    return this.#materialise().blob();
  }

  async formData(): Promise<FormData> {
    return this.#materialise().formData();
  }

  clone(): Response {
    const copy = this.#materialise().clone();
    const headers = this.#ownHeaders;
    return headers === undefined
      ? copy
      : new (realResponse())(copy.body, { status: copy.status, statusText: copy.statusText, headers });
  }

  get [Symbol.toStringTag](): string {
    return 'Response';
  }

  /**
   * The Headers that the handler may hold: they take precedence over those of a real Response that was created
   * meanwhile.
   */
  get #ownHeaders(): Headers | undefined {
    const { headers } = this.#parts;
    return Array.isArray(headers) ? undefined : headers;
  }

  #materialise(): Response {
    return (this.#real ??= this.#make());
  }

  #make(): Response {
    const { body, status, statusText, headers } = this.#parts;
    const RealResponse = realResponse();
    if (this.#redirect)
      return RealResponse.redirect((headers as [string, string][])[0]?.[1] ?? '', status as RedirectStatus);
    return new RealResponse(body as BodyInit | null, { status, statusText, headers });
  }
}

const EMPTY: PlainParts = { status: 200, statusText: '', headers: [], body: null };

/** @throws TypeError when its body was read. */
export function realParts(real: Response): ResponseParts {
  if (real.bodyUsed) throw new TypeError('The body of the Response has already been read.');
  const { status, statusText, headers, body } = real;
  return { status, statusText, headers, body };
}
