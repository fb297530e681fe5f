import { Readable } from 'node:stream';
import { realHeaders, type HeadersInit } from './real-globals.ts';

type PlainBody = string | Uint8Array | ReadableStream | null;
type Pairs = [string, string][];

/** What a Response is made of. */
export interface PlainParts {
  status: number;
  statusText: string;
  /** With the content type that a text has. */
  headers: Pairs | Headers;
  body: PlainBody;
}

interface PlainHead {
  status: number;
  statusText: string;
  headers: HeadersInit | undefined;
}

const TEXT_TYPE = 'text/plain;charset=UTF-8';
const NULL_BODY = new Set([204, 205, 304]);
const PLAIN_HEAD: PlainHead = { status: 200, statusText: '', headers: undefined };
const TOKEN = /^[\w!#$%&'*+\-.^`|~]+$/;
/** Text that the standard takes as it is: no character to refuse, no white space to trim. */
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/;
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;

/**
 * The parts of a Response whose arguments need no conversion by the standard's rules (https://fetch.spec.whatwg.org and
 * Web IDL), and break none of them. Undefined where only the real class can say what it makes of them, or refuse them.
 * What the caller may change afterwards is copied.
 * @param type what a text has for a content type when nothing names one
 * @throws TypeError for a Headers, or what stands for one, that the standard refuses.
 */
export function plainParts(body: unknown, init: unknown, type = TEXT_TYPE): PlainParts | undefined {
  const head = init === undefined ? PLAIN_HEAD : plainHead(init);
  const held = plainBody(body);
  if (head === undefined || held === undefined || (held !== null && NULL_BODY.has(head.status))) return undefined;
  const headers = head.headers === undefined ? [] : heldHeaders(head.headers, init as object);
  if (typeof held === 'string') addType(headers, type);
  return { status: head.status, statusText: head.statusText, headers, body: held };
}

function plainHead(init: unknown): PlainHead | undefined {
  if (typeof init !== 'object' || init === null) return undefined;
  const { status = 200, statusText = '', headers }: ResponseInit = init;
  if (!isStatus(status) || headers === null) return undefined;
  return typeof statusText === 'string' && REASON.test(statusText) ? { status, statusText, headers } : undefined;
}

const isStatus = (status: number): boolean => Number.isInteger(status) && status >= 200 && status <= 599;

function addType(headers: Pairs | Headers, type: string): void {
  if (!Array.isArray(headers)) {
    if (!headers.has('content-type')) headers.set('content-type', type);
  } else if (headers.length === 0 || !headers.some(([name]) => name === 'content-type'))
    headers.push(['content-type', type]);
}

/** Undefined: the real class turns it into bytes, or refuses it. */
function plainBody(body: unknown): PlainBody | undefined {
  if (typeof body === 'string') return body;
  if (body === undefined || body === null) return null;
  if (body instanceof Uint8Array) return isFixed(body.buffer) ? Buffer.from(body) : undefined;
  return body instanceof ReadableStream && !isTaken(body) ? body : undefined;
}

const isFixed = (buffer: ArrayBufferLike): boolean =>
  buffer instanceof ArrayBuffer && !buffer.resizable && !buffer.detached;

/** Whether the stream has been read from, or has a reader. */
export const isTaken = (stream: ReadableStream): boolean =>
  stream.locked || Readable.isDisturbed(stream as unknown as Readable);

/**
 * Pairs or a record of strings, or a Headers of nobody else; those that say how a fetched body was packed are left out.
 */
function heldHeaders(headers: HeadersInit, init: object): Pairs | Headers {
  const pairs = Array.isArray(headers)
    ? fromPairs(headers)
    : isPlain(headers)
      ? fromRecord(headers as Record<string, unknown>)
      : undefined;
  if (pairs !== undefined) return pairs;
  const copy = new (realHeaders())(headers);
  if ('url' in init && init.url !== '') dropEncoding(copy);
  return copy;
}

function fromPairs(entries: readonly unknown[]): Pairs | undefined {
  const pairs: Pairs = [];
  return entries.every((entry) => Array.isArray(entry) && entry.length === 2 && add(pairs, entry[0], entry[1]))
    ? pairs
    : undefined;
}

function fromRecord(record: Record<string, unknown>): Pairs | undefined {
  const pairs: Pairs = [];
  return Reflect.ownKeys(record).every(
    (name) => Object.prototype.propertyIsEnumerable.call(record, name) && add(pairs, name, record[name as string]),
  )
    ? pairs
    : undefined;
}

/** @returns false, and adds nothing, where something would have to be converted, joined, cut off or refused. */
function add(pairs: Pairs, name: unknown, value: unknown): boolean {
  if (typeof name !== 'string' || typeof value !== 'string' || !TOKEN.test(name) || !VALUE.test(value)) return false;
  const key = name.toLowerCase();
  for (const [other] of pairs) if (other === key) return false;
  pairs.push([key, value]);
  return true;
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !(Symbol.iterator in value);
};

/** The body of a fetched answer is unpacked already: its length and encoding are no more what the headers say. */
export function dropEncoding(headers: Headers): void {
  if (!headers.has('content-encoding')) return;
  headers.delete('content-encoding');
  headers.delete('content-length');
}
