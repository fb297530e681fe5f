import type { RequestListener } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { createManagementServer } from '@wherry/manager/http/management-server.ts';
import { drainServer } from '@wherry/service/drain-server.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';

/** Running requests get this long to finish when the service stops. */
const DRAIN_MS = 10_000;

/** Where the manager listens: a Unix socket that the router alone uses, or a port. */
type ManagerAddress = string | { host: string; port: number };

/**
 * Serves the management API.
 * @returns the port in use, undefined for a socket, and how to let running requests finish and close it.
 * @throws StartError for a port that is taken or may not be opened.
 */
export async function listenManager(
  listener: RequestListener,
  address: ManagerAddress,
  { clock, trustedProxies }: { clock: Clock; trustedProxies: readonly string[] },
): Promise<{ port: number | undefined; close(): Promise<void> }> {
  const server = createManagementServer(listener, { trustedProxies });
  const port = await (typeof address === 'string'
    ? listenOrFail(server, { path: address, mode: 0o600 }, 'TMPDIR')
    : listenOrFail(server, address, 'MANAGEMENT_PORT', 'MANAGEMENT_HOST'));
  return {
    port: typeof address === 'string' ? undefined : port,
    close: () => drainServer(server, { clock, boundMs: DRAIN_MS }),
  };
}
