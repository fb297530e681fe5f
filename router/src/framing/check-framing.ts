import { eachHeader } from '../headers/raw-headers.ts';
import { Refusal } from '../refusal.ts';

/** Bytes of all header lines (R9). */
const MAX_HEADER_BYTES = 16_384;
/**
 * Lines of a head that Node keeps: each takes more memory than it has bytes (R12). It drops what follows, so such a
 * call is refused.
 */
export const MAX_HEADERS = 256;

/** A host, and perhaps a port: what may stand in a URL, and nothing that splits one. */
const HOST = /^(?:[A-Za-z0-9\-._~%!$&'()*+,;=]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * What Node's strict parser lets through, and two parties could read differently (R3): it keeps the first of two Hosts
 * and takes transfer codings before `chunked`. The rest of R3 ends in the parser (see `answer-parse-error.ts`).
 */
export function checkFraming(rawHeaders: readonly string[], httpVersion: string): Refusal | undefined {
  if (rawHeaders.length >= 2 * MAX_HEADERS) return new Refusal('headers_too_large');
  const hosts: string[] = [];
  const codings: string[] = [];
  let lengths = 0;
  eachHeader(rawHeaders, (name, value) => {
    if (name === 'host') hosts.push(value);
    else if (name === 'content-length') lengths++;
    else if (name === 'transfer-encoding') codings.push(value.toLowerCase());
  });
  const problem = hostProblem(hosts, httpVersion) ?? bodyProblem(codings, lengths, httpVersion);
  // What follows on the connection may be meant to be part of this request.
  return problem === undefined ? undefined : new Refusal('bad_request', ['Connection', 'close'], problem);
}

/** The parser holds a higher limit, so that a long target can be distinguished from long headers. */
export function checkHeaderSize(rawHeaders: readonly string[]): Refusal | undefined {
  let bytes = 0;
  // Each line has ": " and CR LF.
  for (const text of rawHeaders) bytes += text.length + 2;
  return bytes > MAX_HEADER_BYTES ? new Refusal('headers_too_large') : undefined;
}

function hostProblem([host, ...more]: readonly string[], httpVersion: string): string | undefined {
  if (host === undefined) return httpVersion === '1.0' ? undefined : 'The Host header is missing.';
  if (more.length > 0) return 'There is more than one Host header.';
  return HOST.test(host) ? undefined : 'The Host header is not a host.';
}

function bodyProblem(codings: readonly string[], lengths: number, httpVersion: string): string | undefined {
  // A proxy of that version takes the body for as long as the connection lasts (RFC 9112 6.1).
  if (codings.length > 0 && httpVersion === '1.0') return 'HTTP/1.0 has no Transfer-Encoding.';
  if (codings.length + lengths > 1) return 'The length of the body is given more than once.';
  const coding = codings[0];
  return coding === undefined || coding === 'chunked'
    ? undefined
    : 'The only Transfer-Encoding that is accepted is chunked.';
}
