import type { Duplex } from 'node:stream';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { jsonLines } from './json-lines.ts';

/** Lines of a runtime are batches of log entries, about 1 MiB of JSON each. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** Four times what its function may log, since what is over that rate has to be read before it is counted. */
const BYTES_PER_SECOND = 4 * 1024 * 1024;
const BURST_BYTES = 8 * 1024 * 1024;
/** At this cost the rate allows 4,096 lines a second; our runtime sends about twenty. */
const LEAST_BYTES = 1024;

/** The feed of an instance, which runs other people's code: what it sends must not take time from others (S8). */
export function runtimeLines(stream: Duplex, clock: Clock): FeedChannel {
  const pace = { bytesPerSecond: BYTES_PER_SECOND, burstBytes: BURST_BYTES, leastBytes: LEAST_BYTES, clock };
  return jsonLines(stream, { maxLineBytes: MAX_LINE_BYTES, pace });
}
