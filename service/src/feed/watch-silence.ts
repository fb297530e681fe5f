import type { Socket } from 'node:net';
import { HEARTBEAT_SECONDS } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';

interface SilenceOptions {
  clock: Clock;
  /** How many heartbeats may be missing. */
  heartbeats: number;
  /** Called before the connection is cut. */
  onSilence?: () => void;
}

/**
 * Closes a connection on which nothing arrived for that many heartbeats. Bytes count, not messages: a long snapshot
 * over a slow line is not silence. And it counts checks, not the time between them: a process that was itself suspended
 * must not blame its peer.
 * @returns how to stop watching.
 */
export function watchSilence(socket: Socket, { clock, heartbeats, onSilence }: SilenceOptions): () => void {
  let seen = socket.bytesRead;
  let missed = 0;
  let cancel = (): void => undefined;
  const look = (): void => {
    missed = socket.bytesRead === seen ? missed + 1 : 0;
    seen = socket.bytesRead;
    if (missed < heartbeats) {
      later();
      return;
    }
    onSilence?.();
    socket.destroy();
  };
  const later = (): void => {
    cancel = clock.after(HEARTBEAT_SECONDS * 1000, look);
  };
  later();
  return () => cancel();
}
