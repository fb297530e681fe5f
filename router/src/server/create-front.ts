import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { answerOnSocket, refusalOf, type ParseError } from '../http-framing/answer-parse-error.ts';
import { answerTo, Refusal } from '../refusal.ts';
import type { Connections } from './connections.ts';
import { ROUTER_LIMITS } from '../limits.ts';

/**
 * How much of a head Node's parser accepts: more than the limits of R9, so that the chain can say which one was
 * exceeded.
 */
const MAX_HEAD_BYTES = 26_624;
/** How often Node checks for connections whose head is late: they are closed at most a second after the limit (R11). */
export const CHECK_INTERVAL_MS = 1000;

export interface FrontOptions {
  /** Milliseconds until a head must be complete. */
  headersTimeoutMs?: number;
  /** Milliseconds that an idle connection is kept. */
  keepAliveMs?: number;
}

/**
 * The HTTP server of the function port: strict parsing (R3), limits on heads (R9, R11), and every refusal of the parser
 * in the API's error shape. `Upgrade` is ignored (the call is answered in HTTP/1.1); CONNECT is refused.
 */
export function createFront(connections: Connections, options: FrontOptions = {}): Server {
  const server = createServer({
    insecureHTTPParser: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: options.headersTimeoutMs ?? ROUTER_LIMITS.headMs,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    // A body is held to a pace and to the function's timeout instead.
    requestTimeout: 0,
    keepAliveTimeout: options.keepAliveMs ?? ROUTER_LIMITS.idleMs,
    // The chain refuses it, in the API's error shape.
    requireHostHeader: false,
    joinDuplicateHeaders: false,
    noDelay: true,
  });
  server.maxHeadersCount = ROUTER_LIMITS.headers;
  const onRequest = (expectsContinue: boolean) => (req: IncomingMessage, res: ServerResponse) =>
    connections.of(req.socket)?.take(req, res, expectsContinue);
  server.on('request', onRequest(false));
  server.on('checkContinue', onRequest(true));
  server.on('checkExpectation', (_req: IncomingMessage, res: ServerResponse) => refuseExpectation(res));
  server.on('connect', (_req: IncomingMessage, socket: Duplex) => refuseOnSocket(socket, new Refusal('bad_target')));
  server.on('clientError', (error: ParseError, socket: Duplex) => {
    const isLateHead = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    if (isLateHead && connections.of(socket as Socket)?.excusesLateHead() === true) return;
    onClientError(error, socket as Socket);
  });
  connections.watch(server);
  return server;
}

function onClientError(error: ParseError, socket: Socket): void {
  const refusal = refusalOf(error);
  if (refusal === undefined || isAnswering(socket)) socket.destroy();
  else refuseOnSocket(socket, refusal);
}

function refuseExpectation(res: ServerResponse): void {
  const refusal = new Refusal('expectation_failed');
  const { headers, body } = answerTo(refusal, randomUUID());
  res.writeHead(refusal.status, [...headers, 'Connection', 'close']);
  res.end(body);
}

function refuseOnSocket(socket: Duplex, refusal: Refusal): void {
  answerOnSocket(socket, refusal, randomUUID());
}

/**
 * Whether bytes that are written now would be mistaken for (a part of) another call's answer. By Node's own link from a
 * socket to the response that it carries, which Node's default handler reads, too.
 */
function isAnswering(socket: Socket & { _httpMessage?: ServerResponse | null }): boolean {
  const response = socket._httpMessage ?? undefined;
  // A call whose own body does not parse may be answered; a complete one waits, and the garbage is another's.
  return response !== undefined && (response.headersSent || response.req.complete);
}
