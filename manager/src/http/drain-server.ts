import { once } from 'node:events';
import type { Server } from 'node:http';

/** Running requests get this long to finish when the service stops. */
const DRAIN_MS = 10_000;
const LOOK_MS = 100;

/** Takes no new connection, lets running requests finish for a while, and cuts what is left. */
export async function drainServer(
  server: Pick<Server, 'close' | 'closeIdleConnections' | 'closeAllConnections' | 'once' | 'on'>,
): Promise<void> {
  const closed = once(server as Server, 'close');
  server.close();
  // Connections that are kept alive become idle one by one, as their requests end.
  const look = setInterval(() => server.closeIdleConnections(), LOOK_MS);
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearInterval(look);
  clearTimeout(cut);
}
