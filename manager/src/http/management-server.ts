import { createServer, type RequestListener, type Server } from 'node:http';
import { boundConnections } from '@wherry/service/bounded-connections.ts';
import { MAX_OPEN_REQUESTS } from '@wherry/service/pipeline.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/** How often Node checks for connections whose head is late. */
const CHECK_INTERVAL_MS = 1000;

export interface ManagementServerOptions {
  /** Networks whose connections are bounded only together with all others. */
  trustedProxies: readonly string[];
  limits?: { connections: number; connectionsPerAddress: number };
  /** Milliseconds until a head must be complete. */
  headersTimeoutMs?: number;
}

/**
 * The HTTP server of the management port. It bounds connections, and what is open on them, before their callers are
 * identified (M10).
 */
export function createManagementServer(listener: RequestListener, options: ManagementServerOptions): Server {
  const { limits = MANAGER_LIMITS.port, trustedProxies, headersTimeoutMs } = options;
  const server = createServer({
    headersTimeout: headersTimeoutMs ?? MANAGER_LIMITS.headMs,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headersTimeoutMs ?? CHECK_INTERVAL_MS),
  });
  boundConnections(server, listener, { limits, trustedProxies, maxOpen: MAX_OPEN_REQUESTS });
  return server;
}
