import { buildConnector, Client, type Dispatcher } from 'undici';
import type { UpstreamConnection, UpstreamConnections } from './upstream-connections.ts';
import type {
  Upstream,
  UpstreamAddress,
  UpstreamCall,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamReceiver,
} from './upstream.ts';
import { ROUTER_LIMITS } from '../limits.ts';

const CONNECT_TIMEOUT_MS = 3000;

interface Connection extends UpstreamConnection {
  readonly client: Client;
}

/**
 * HTTP/1.1 with keep-alive on undici's lowest layer: one connection per running call. undici's own Pool limits only the
 * connections of one instance, and keeps an object for every connection that it ever had.
 */
export class UndiciUpstream implements Upstream {
  readonly #origin: string;
  readonly #options: Client.Options;
  readonly #bound: UpstreamConnections;
  readonly #connections = new Set<Connection>();
  /** The most recently used connection is used next, so that the others may be closed. */
  #idle: Connection[] = [];
  #isClosed = false;

  /** @param bound of the connections to all instances. */
  constructor(address: UpstreamAddress, bound: UpstreamConnections) {
    this.#bound = bound;
    this.#origin = 'path' in address ? 'http://localhost' : `http://${hostInUrl(address.host)}:${address.port}`;
    this.#options = {
      connect: buildConnector({
        timeout: CONNECT_TIMEOUT_MS,
        ...('path' in address ? { socketPath: address.path } : {}),
      }),
      maxHeaderSize: ROUTER_LIMITS.responseHeaderBytes,
      pipelining: 1,
      // The router has its own timer for each call.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
  }

  forward(call: UpstreamCall, receiver: UpstreamReceiver): UpstreamExchange {
    const exchange = new Exchange(receiver);
    const options: Dispatcher.DispatchOptions = {
      method: call.method,
      path: call.path,
      headers: call.headers,
      body: call.body,
      // undici would close the connection after each HEAD, and after each GET with a body.
      reset: false,
    };
    try {
      this.#connection().client.dispatch(options, exchange);
    } catch {
      // A head that undici considers impossible, which the parser in front never lets through; or the instance has
      // left.
      exchange.onResponseError(null, new Error('refused'));
    }
    return exchange;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(
      [...this.#connections].map(({ client }) =>
        client.closed || client.destroyed ? Promise.resolve() : client.close(),
      ),
    );
  }

  async destroy(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(
      [...this.#connections].map(({ client }) => (client.destroyed ? Promise.resolve() : client.destroy())),
    );
  }

  #connection(): Connection {
    if (this.#isClosed) throw new Error('closed');
    const kept = this.#idle.pop();
    if (kept === undefined) return this.#open();
    this.#bound.busy(kept);
    return kept;
  }

  #open(): Connection {
    const client = new Client(this.#origin, this.#options);
    const connection: Connection = { client, idleTurn: undefined, close: () => this.#forget(connection) };
    this.#connections.add(connection);
    this.#bound.opened(connection);
    client.on('drain', () => {
      if (!this.#connections.has(connection)) return;
      this.#idle.push(connection);
      this.#bound.idle(connection);
    });
    client.on('connectionError', () => this.#forget(connection));
    client.on('disconnect', () => {
      // Where a call was waiting for it, it connects again by itself.
      if (client.stats.size === 0) this.#forget(connection);
    });
    return connection;
  }

  #forget(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    this.#bound.closed(connection);
    this.#idle = this.#idle.filter((idle) => idle !== connection);
    if (!connection.client.destroyed) void connection.client.destroy();
  }
}

class Exchange implements UpstreamExchange, Dispatcher.DispatchHandler {
  readonly #receiver: UpstreamReceiver;
  #controller: Dispatcher.DispatchController | undefined;
  #done = false;

  constructor(receiver: UpstreamReceiver) {
    this.#receiver = receiver;
  }

  resume(): void {
    this.#controller?.resume();
  }

  abort(): void {
    if (this.#done) return;
    this.#done = true;
    this.#controller?.abort(new Error('aborted'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It was given up while it waited for a connection.
    if (this.#done) controller.abort(new Error('aborted'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (this.#done || status < 200) return;
    this.#receiver.head(status, textHeaders(controller.rawHeaders));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#done && !this.#receiver.data(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#done) return;
    this.#done = true;
    this.#receiver.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#done) return;
    this.#done = true;
    this.#receiver.fail(this.#controller === undefined ? 'unsent' : failureOf(error));
  }
}

function failureOf(error: Error & { code?: string }): UpstreamFailure {
  const code = error.code ?? '';
  if (code === 'HPE_INVALID_EOF_STATE') return 'crashed';
  if (code.startsWith('HPE_') || error.name === 'HTTPParserError') return 'bad_response';
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return 'bad_response';
  return error.message.startsWith('bad ') ? 'bad_response' : 'crashed';
}

/** Bytes above ASCII stay as they are: both sides write latin1. */
function textHeaders(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
