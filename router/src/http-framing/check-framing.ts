import { headerValues } from '../headers/raw-headers.ts';
import { Refusal } from '../refusal.ts';
import { ROUTER_LIMITS } from '../limits.ts';

/** A host, and perhaps a port: what may stand in a URL, and nothing that splits one. */
const HOST = /^(?:[A-Za-z0-9\-._~%!$&'()*+,;=]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * What Node's strict parser accepts, but two parties could read differently (R3): it keeps the first of two Hosts, takes
 * transfer codings before `chunked`, and reads HTTP/0.9 and HTTP/2.0 as if they were HTTP/1.1. The rest of R3 is refused
 * by the parser (see `answer-parse-error.ts`).
 */
export function checkFraming(rawHeaders: readonly string[], httpVersion: string): Refusal | undefined {
  if (rawHeaders.length >= 2 * ROUTER_LIMITS.headers) return new Refusal('headers_too_large');
  const problem =
    versionProblem(httpVersion) ?? hostProblem(rawHeaders, httpVersion) ?? bodyProblem(rawHeaders, httpVersion);
  // What follows on the connection may be meant to be part of this request.
  return problem === undefined ? undefined : new Refusal('bad_request', ['Connection', 'close'], problem);
}

/** The parser has a higher limit, so that a long target can be distinguished from long headers. */
export function checkHeaderSize(rawHeaders: readonly string[]): Refusal | undefined {
  let bytes = 0;
  // Each line has ": " and CR LF.
  for (const text of rawHeaders) bytes += text.length + 2;
  return bytes > ROUTER_LIMITS.headerBytes ? new Refusal('headers_too_large') : undefined;
}

function versionProblem(httpVersion: string): string | undefined {
  return httpVersion === '1.1' || httpVersion === '1.0'
    ? undefined
    : 'The only accepted versions are HTTP/1.1 and 1.0.';
}

function hostProblem(rawHeaders: readonly string[], httpVersion: string): string | undefined {
  const hosts = headerValues(rawHeaders, 'host');
  const host = hosts[0];
  if (host === undefined) return httpVersion === '1.0' ? undefined : 'The Host header is missing.';
  if (hosts.length > 1) return 'There is more than one Host header.';
  return HOST.test(host) ? undefined : 'The Host header is not a valid host.';
}

function bodyProblem(rawHeaders: readonly string[], httpVersion: string): string | undefined {
  const codings = headerValues(rawHeaders, 'transfer-encoding');
  const lengths = headerValues(rawHeaders, 'content-length');
  // A proxy of that version takes the body for as long as the connection lasts (RFC 9112 6.1).
  if (codings.length > 0 && httpVersion === '1.0') return 'HTTP/1.0 does not allow Transfer-Encoding.';
  if (codings.length + lengths.length > 1) return 'The length of the body is given more than once.';
  const coding = codings[0]?.toLowerCase();
  return coding === undefined || coding === 'chunked' ? undefined : 'The only accepted Transfer-Encoding is chunked.';
}
