import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server before a registry, by which a test observes, delays or changes what it likes. */
export interface MeddlingProxy {
  url: string;
  /** The requests: method, path and headers. */
  requests: { url: string; headers: IncomingMessage['headers'] }[];
  /** Answers a request and returns true, or leaves it to the registry. */
  meddle: (request: IncomingMessage, response: ServerResponse) => boolean;
  stop(): Promise<void>;
}

/** @param upstream without one, all that is not meddled with is not found. */
export async function startMeddlingProxy(upstream?: string): Promise<MeddlingProxy> {
  const proxy: MeddlingProxy = { url: '', requests: [], meddle: () => false, stop };
  const server = createServer((incoming, response) => {
    proxy.requests.push({ url: incoming.url ?? '', headers: incoming.headers });
    if (proxy.meddle(incoming, response)) return;
    if (upstream === undefined) {
      response.writeHead(404).end();
      return;
    }
    // The Host stays, so that the registry names our address in its answers.
    const outgoing = request(
      new URL(incoming.url ?? '', upstream),
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
  async function stop(): Promise<void> {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return proxy;
}
