import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import type { BlobAnswer } from '../protocol.ts';

/** Blobs under way at once: each is held in memory on both sides. */
const CONCURRENCY = 4;

interface BlobClient {
  fetch(digest: Digest): Promise<Buffer>;
  answer(message: BlobAnswer): void;
}

/** Asks the service for contents, a few at a time. One that it refuses never resolves: the service ends the build. */
export function blobClient(channel: FeedChannel): BlobClient {
  const waiting = new Map<Digest, ((bytes: Buffer) => void)[]>();
  const queue: Digest[] = [];
  let underWay = 0;

  function next(): void {
    while (underWay < CONCURRENCY) {
      const digest = queue.shift();
      if (digest === undefined) return;
      underWay += 1;
      channel.send({ type: 'blob', digest });
    }
  }

  return {
    fetch(digest) {
      const { promise, resolve } = Promise.withResolvers<Buffer>();
      const others = waiting.get(digest);
      if (others === undefined) {
        waiting.set(digest, [resolve]);
        queue.push(digest);
        next();
      } else {
        others.push(resolve);
      }
      return promise;
    },
    answer({ digest, base64 }) {
      const bytes = Buffer.from(base64, 'base64');
      for (const resolve of waiting.get(digest) ?? []) resolve(bytes);
      waiting.delete(digest);
      underWay -= 1;
      next();
    },
  };
}
