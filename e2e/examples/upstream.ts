import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What the upstream was sent. */
interface Received {
  authorization: string | undefined;
  headerNames: string[];
  body: { model: string; stream?: boolean };
  /** Sends the answer of the model `silent`, and after the first event that of `held`; others are answered at once. */
  finish: () => void;
  /** Resolves when the answer is sent or the connection is gone. @returns whether the answer was sent as a whole */
  ended: Promise<boolean>;
}

/** A server that answers as OpenAI's API does: events, or for the model `busy` status 429. */
export class Upstream {
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #waiting: ((received: Received) => void)[] = [];

  /** @returns the base URL */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** The next request. */
  next(): Promise<Received> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request)) as Received['body'];
    const held = Promise.withResolvers<void>();
    const ended = once(response, 'close').then(() => response.writableFinished);
    const { authorization } = request.headers;
    this.#waiting.shift()?.({
      authorization,
      headerNames: Object.keys(request.headers),
      body,
      finish: held.resolve,
      ended,
    });
    if (request.url !== '/v1/chat/completions' || body.model === 'busy') {
      response.writeHead(429, { 'content-type': 'application/json' }).end('{"error":{"message":"Slow down."}}');
      return;
    }
    if (body.model === 'silent') await held.promise;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n');
    if (body.model === 'held') await held.promise;
    response.end('data: {"choices":[{"delta":{"content":"lo."}}]}\n\ndata: [DONE]\n\n');
  }
}
