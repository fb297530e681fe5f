import { headerValue } from '../headers/raw-headers.ts';
import { Refusal } from '../refusal.ts';

/** What is known of a request's body before it is read. */
export interface BodyInfo {
  present: boolean;
  /** Bytes; null when the body is chunked or there is none. */
  length: number | null;
}

export function bodyInfo(rawHeaders: readonly string[]): BodyInfo {
  if (headerValue(rawHeaders, 'transfer-encoding') !== undefined) return { present: true, length: null };
  const length = headerValue(rawHeaders, 'content-length');
  if (length === undefined) return { present: false, length: null };
  return { present: Number(length) > 0, length: Number(length) };
}

/** Refuses a body whose announced length is over the limit (R9); a chunked one is cut when it reaches the limit. */
export function checkSize(body: BodyInfo, maxBytes: number): Refusal | undefined {
  return body.length !== null && body.length > maxBytes ? new Refusal('too_large') : undefined;
}
