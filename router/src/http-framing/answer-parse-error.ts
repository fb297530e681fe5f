import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { eachHeader } from '../headers/raw-headers.ts';
import { answerTo, Refusal } from '../refusal.ts';
import { ROUTER_LIMITS } from '../limits.ts';

/** What `clientError` brings: parse errors carry the packet that did not parse. */
export interface ParseError extends Error {
  code?: string;
  rawPacket?: Buffer;
}

/** Which refusal an error of Node's HTTP parser stands for; undefined when the caller has gone. */
export function refusalOf(error: ParseError): Refusal | undefined {
  switch (error.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('request_timeout');
    case 'HPE_HEADER_OVERFLOW':
      return new Refusal(isTargetTooLong(error.rawPacket) ? 'uri_too_long' : 'headers_too_large');
    default:
      return new Refusal('bad_request');
  }
}

/** Answers on the raw socket, where no response object exists, and closes it. */
export function answerOnSocket(socket: Duplex, refusal: Refusal, requestId: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { headers, body } = answerTo(refusal, requestId);
  const head = [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? 'Error'}`];
  eachHeader(headers, (_lowerName, value, name) => head.push(`${name}: ${value}`));
  head.push('Connection: close');
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** A request line that does not end within the limit. A line that came in several packets counts as headers. */
function isTargetTooLong(packet: Buffer | undefined): boolean {
  if (packet === undefined || packet.length <= ROUTER_LIMITS.targetBytes) return false;
  const end = packet.indexOf('\n');
  return end === -1 || end > ROUTER_LIMITS.targetBytes;
}
