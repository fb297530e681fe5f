import type { IncomingMessage } from 'node:http';
import { realHeaders } from './real-globals.ts';

/** Between router and runtime only, not the caller's: a handler never sees them. */
const INTERNAL = /^(?:x-wherry-|connection$|keep-alive$)/;
const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;

/** The caller's headers, read where Node already holds them; a real Headers once something else is used. */
export class RequestHeaders {
  readonly #incoming: IncomingMessage;
  #real: Headers | undefined;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  get(name: string): string | null {
    if (this.#real !== undefined) return this.#real.get(name);
    const key = lowerName(name);
    const headers = this.#incoming.headers;
    if (INTERNAL.test(key) || !Object.hasOwn(headers, key)) return null;
    const value = headers[key];
    return typeof value === 'string' ? value : (value?.join(', ') ?? null);
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  forEach(callback: (value: string, name: string, headers: Headers) => void, thisArg?: unknown): void {
    for (const [name, value] of this.entries()) callback.call(thisArg, value, name, this);
  }

  /** Sorted by name, as the standard requires. */
  entries(): IterableIterator<[string, string]> {
    if (this.#real !== undefined) return this.#real.entries();
    const names = Object.keys(this.#incoming.headers).filter((name) => !INTERNAL.test(name));
    return names
      .sort()
      .map((name): [string, string] => [name, this.get(name) ?? ''])
      .values();
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  append(name: string, value: string): void {
    this.#materialise().append(name, value);
  }

  set(name: string, value: string): void {
    this.#materialise().set(name, value);
  }

  delete(name: string): void {
    this.#materialise().delete(name);
  }

  getSetCookie(): string[] {
    return this.#materialise().getSetCookie();
  }

  get [Symbol.toStringTag](): string {
    return 'Headers';
  }

  #materialise(): Headers {
    const RealHeaders = realHeaders();
    return (this.#real ??= new RealHeaders([...this.entries()]));
  }
}

function lowerName(name: string): string {
  const text = String(name);
  if (!NAME.test(text)) throw new TypeError(`Headers: not a header's name: ${JSON.stringify(text)}`);
  return text.toLowerCase();
}
