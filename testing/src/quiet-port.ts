import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems hand out for port 0 and for outgoing connections, above the well-known ones. */
const FIRST = 20_000;
const LAST = 29_999;

/**
 * A port that is free on each of the hosts, and that no other program gets by chance: for a test that needs one to be
 * free, or to stay so after it was closed.
 */
export async function quietPort(hosts: readonly string[] = ['127.0.0.1']): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    const free = await Promise.all(hosts.map((host) => isFree(port, host)));
    if (!free.includes(false)) return port;
  }
}

async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer().listen({ port, host });
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await once(server.close(), 'close');
  return true;
}
