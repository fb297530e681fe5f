import { once } from 'node:events';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { connectWithRetry, type RetriedConnection } from '../../connect-with-retry.ts';
import type { InstallPeer } from './install-session.ts';
import { MAX_LINE_BYTES } from './protocol.ts';

/**
 * The installer of another container, over its Unix socket: it has the registry's token, and this process none.
 * @throws the signal's reason, or the last refusal.
 */
export async function connectInstaller(options: RetriedConnection, signal: AbortSignal): Promise<InstallPeer> {
  const socket = await connectWithRetry(options, signal);
  const exited = once(socket, 'close').then(() => undefined);
  const channel = jsonLines(socket, { maxLineBytes: MAX_LINE_BYTES, maxBufferedBytes: MAX_LINE_BYTES });
  return { channel, exited, kill: () => void socket.destroy() };
}
