import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';

/**
 * Two ends of a feed connection in memory. Messages go through JSON, as on the wire: what JSON does not carry is lost
 * here too. What was sent before an end closed still reaches the other end, as with a socket.
 */
export function channelPair(): [FeedChannel, FeedChannel] {
  const left = new ChannelEnd();
  const right = new ChannelEnd();
  left.join(right);
  right.join(left);
  return [left, right];
}

class ChannelEnd implements FeedChannel {
  readonly closed: Promise<void>;
  readonly #resolveClosed: () => void;
  #peer: ChannelEnd | undefined;
  #received: unknown[] = [];
  #ended = false;
  #iterated = false;
  #wake: () => void = () => undefined;

  constructor() {
    const closed = Promise.withResolvers<void>();
    this.closed = closed.promise;
    this.#resolveClosed = closed.resolve;
  }

  join(peer: ChannelEnd): void {
    this.#peer = peer;
  }

  send(message: object): void {
    if (!this.#ended) this.#peer?.receive(JSON.parse(JSON.stringify(message)));
  }

  async *messages(): AsyncGenerator<unknown, void> {
    if (this.#iterated) throw new Error('the messages of a channel are iterated once');
    this.#iterated = true;
    try {
      for (;;) {
        while (this.#received.length > 0) yield this.#received.shift();
        if (this.#ended) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      // An end that stops reading has left, as with a stream.
      this.close();
    }
  }

  close(): void {
    this.#received = [];
    this.end();
    this.#peer?.end();
  }

  receive(message: unknown): void {
    this.#received.push(message);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#resolveClosed();
    this.#wake();
  }
}
