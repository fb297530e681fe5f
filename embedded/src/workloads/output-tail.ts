import type { Readable } from 'node:stream';
import type { Clock } from '@wherry/core/ports/clock.ts';

const KEPT_BYTES = 8 * 1024;
/**
 * At most one read, of up to 64 KiB, in this time: an instance that floods its output must not keep the service busy.
 */
const PAUSE_MS = 10;

/** The end of what a process wrote. It is only shown, never parsed (S6). */
interface OutputTail {
  text(): string;
  /** Resolves when all is read. */
  ended: Promise<void>;
}

/** Reads a stream to its end, slowly, and keeps its last 8 KiB. */
export function outputTail(stream: Readable, clock: Clock): OutputTail {
  let kept: Buffer = Buffer.alloc(0);
  stream.on('error', () => stream.destroy());
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-KEPT_BYTES);
    stream.pause();
    clock.after(PAUSE_MS, () => stream.resume());
  });
  return {
    text: () => kept.toString('utf8'),
    ended: new Promise((resolve) => stream.once('close', resolve)),
  };
}
