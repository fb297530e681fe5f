import { Pool, type Dispatcher } from 'undici';
import type {
  Upstream,
  UpstreamAddress,
  UpstreamCall,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamReceiver,
} from './upstream.ts';

/** Bytes of a response's head (S4). */
const MAX_RESPONSE_HEADER_BYTES = 32_768;
const CONNECT_TIMEOUT_MS = 3000;

/** HTTP/1.1 with keep-alive by undici's lowest layer: one connection a running call. */
export class UndiciUpstream implements Upstream {
  readonly #pool: Pool;

  constructor(address: UpstreamAddress) {
    const origin = 'path' in address ? 'http://localhost' : `http://${hostInUrl(address.host)}:${address.port}`;
    this.#pool = new Pool(origin, {
      ...('path' in address ? { socketPath: address.path } : {}),
      connectTimeout: CONNECT_TIMEOUT_MS,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
      pipelining: 1,
      // The router has a timer of its own for each call.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
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
      this.#pool.dispatch(options, exchange);
    } catch {
      // A head that undici takes for impossible: the parser in front lets none through.
      exchange.onResponseError(null, new Error('refused'));
    }
    return exchange;
  }

  async close(): Promise<void> {
    if (!this.#pool.closed && !this.#pool.destroyed) await this.#pool.close();
  }

  async destroy(): Promise<void> {
    if (!this.#pool.destroyed) await this.#pool.destroy();
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
