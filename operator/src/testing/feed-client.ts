import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';

interface FeedClientOptions {
  port: number;
  /** PEM of the authority of the feed. */
  ca: string;
  /** A router's certificate and key. */
  cert?: string;
  key?: string;
  /** The address of this machine that it connects from. */
  localAddress: string;
  hello: object;
}

/** A client of the feed that says hello, whatever it is, and stays. */
export class FeedClient {
  readonly #socket: TLSSocket;
  readonly #closed: Promise<void>;

  constructor({ hello, ...options }: FeedClientOptions) {
    // Its type lacks `localAddress`, which it hands to the socket.
    this.#socket = connect({ host: '127.0.0.1', ...options } as ConnectionOptions);
    this.#socket.on('error', () => undefined);
    this.#closed = new Promise((resolve) => this.#socket.once('close', () => resolve()));
    this.#socket.once('secureConnect', () => this.#socket.write(`${JSON.stringify(hello)}\n`));
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Resolves when it is connected, or when it was cut off before. */
  async connected(): Promise<void> {
    await Promise.race([new Promise((resolve) => this.#socket.once('secureConnect', resolve)), this.#closed]);
  }

  /** The type of the first message; undefined: it was cut off before. */
  async firstMessage(): Promise<string | undefined> {
    let text = '';
    const line = new Promise<void>((resolve) =>
      this.#socket.on('data', (chunk: Buffer) => (text += chunk.toString()).includes('\n') && resolve()),
    );
    await Promise.race([line, this.#closed]);
    return text === '' ? undefined : (JSON.parse(text.slice(0, text.indexOf('\n'))) as { type: string }).type;
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    await this.#closed;
  }
}
