import type { Duplex } from 'node:stream';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { lines } from '../lines.ts';

/** How fast a peer's lines are read: what it sends beyond that waits with it. */
interface Pace {
  bytesPerSecond: number;
  /** The burst that is read at once. */
  burstBytes: number;
  /** The minimum cost of a line: short lines take time too. */
  leastBytes: number;
  clock: Clock;
}

interface JsonLinesOptions {
  /** Bytes queued for a peer that does not read, before it is cut off. */
  maxBufferedBytes?: number;
  /** Longest line taken, in bytes; a longer one ends the connection. */
  maxLineBytes?: number;
  /** If absent, there is no limit. */
  pace?: Pace;
}

/** A FeedChannel over a stream: one JSON text a line. It owns the stream and destroys it at the end. */
export function jsonLines(stream: Duplex, options: JsonLinesOptions = {}): FeedChannel {
  const maxBuffered = options.maxBufferedBytes ?? 128 * 1024 * 1024;
  const maxLine = options.maxLineBytes ?? 64 * 1024 * 1024;
  const bucket = options.pace === undefined ? undefined : new TokenBucket(options.pace);
  const closed = new Promise<void>((resolve) => stream.once('close', resolve));
  // The end of a connection shows in `closed` and in the end of `messages`; why it ended changes nothing for its users.
  stream.on('error', () => stream.destroy());
  // A peer that half-closes has left: there is nothing more to send to it.
  stream.once('end', () => stream.destroy());

  return {
    closed,
    close: () => stream.destroy(),
    queuedBytes: () => stream.writableLength,
    async drained() {
      if (stream.destroyed || !stream.writableNeedDrain) return;
      const drained = Promise.withResolvers<void>();
      stream.once('drain', drained.resolve);
      await Promise.race([drained.promise, closed]);
    },
    send(message) {
      if (stream.destroyed || stream.writableEnded) return;
      stream.write(`${JSON.stringify(message)}\n`);
      if (stream.writableLength > maxBuffered) stream.destroy();
    },
    async *messages() {
      try {
        for await (const line of lines(stream, maxLine)) {
          await bucket?.take(line.length);
          yield JSON.parse(line.toString('utf8')) as unknown;
        }
      } catch {
        // A line that is too long or not JSON, or a reset: the connection is of no more use.
      } finally {
        stream.destroy();
      }
    },
  };
}

class TokenBucket {
  readonly #pace: Pace;
  #left: number;
  /** When `left` was counted, on the monotonic clock. */
  #at: number;

  constructor(pace: Pace) {
    this.#pace = pace;
    this.#left = pace.burstBytes;
    this.#at = pace.clock.monotonic();
  }

  /** Resolves when a line of this many bytes may be read. */
  async take(bytes: number): Promise<void> {
    const { bytesPerSecond, burstBytes, leastBytes, clock } = this.#pace;
    const now = clock.monotonic();
    const gained = ((now - this.#at) / 1000) * bytesPerSecond;
    this.#left = Math.min(burstBytes, this.#left + gained) - Math.max(bytes, leastBytes);
    this.#at = now;
    if (this.#left < 0) await clock.sleep((-this.#left / bytesPerSecond) * 1000);
  }
}
