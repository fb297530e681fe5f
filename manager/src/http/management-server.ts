import { createServer, type RequestListener, type Server } from 'node:http';
import { boundConnections } from '@wherry/service/bounded-connections.ts';
import { MAX_OPEN_REQUESTS } from '@wherry/service/pipeline.ts';

/** Far fewer than the file descriptors that a process usually has: the rest is for files, databases and instances. */
const LIMITS = { connections: 1024, connectionsPerAddress: 256 };
const HEADERS_TIMEOUT_MS = 10_000;
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
  const { limits = LIMITS, trustedProxies, headersTimeoutMs } = options;
  const server = createServer({
    headersTimeout: headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headersTimeoutMs ?? CHECK_INTERVAL_MS),
  });
  boundConnections(server, listener, { limits, trustedProxies, maxOpen: MAX_OPEN_REQUESTS });
  return server;
}
