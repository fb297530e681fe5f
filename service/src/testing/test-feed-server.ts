import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { helloSchema, type Hello } from '@wherry/core/feed/messages.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { jsonLines } from '../feed/json-lines.ts';
import type { TlsMaterial } from '../tls/tls-files.ts';

/** One client of a test's feed. */
interface TestFeedClient {
  hello: Hello;
  channel: FeedChannel;
  /** What it sent after its hello. */
  up: unknown[];
}

/** A feed over TLS whose operator is the test: it accepts whoever sends a hello. */
export class TestFeedServer {
  readonly clients: TestFeedClient[] = [];
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<TLSSocket>();

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('secureConnection', (socket) => void this.#take(socket));
  }

  static async start(material: TlsMaterial, port = 0): Promise<TestFeedServer> {
    const server = createServer({ ...material, requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.3' });
    server.listen(port, 'localhost');
    await once(server, 'listening');
    return new TestFeedServer(server);
  }

  get address(): string {
    return `localhost:${this.port}`;
  }

  /** As a killed operator does: without a message, and nothing listens any more. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #take(socket: TLSSocket): Promise<void> {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    const channel = jsonLines(socket);
    let client: TestFeedClient | undefined;
    for await (const message of channel.messages()) {
      if (client === undefined) this.clients.push((client = { hello: helloSchema.parse(message), channel, up: [] }));
      else client.up.push(message);
    }
  }
}
