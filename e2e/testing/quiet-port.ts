import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems hand out for port 0 and for outgoing connections, above the well-known ones. */
const FIRST = 20_000;
const LAST = 29_999;

/** A port that is free on loopback, and that no other program gets by chance. */
export async function quietPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await once(server.close(), 'close');
    return port;
  }
}
