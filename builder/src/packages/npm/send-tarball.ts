import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { InstallReport } from './protocol.ts';

const CHUNK_BYTES = 1024 * 1024;

/** Answers an order for a tarball, in lines of a size that a channel takes. */
export function sendTarball(channel: FeedChannel, id: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    channel.send({
      type: 'chunk',
      id,
      base64: bytes.subarray(at, at + CHUNK_BYTES).toString('base64'),
    } satisfies InstallReport);
  }
  channel.send({ type: 'fetched', id } satisfies InstallReport);
}
