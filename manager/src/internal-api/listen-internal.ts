import { constants } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { drainServer } from '@wherry/service/drain-server.ts';
import { listenOrFail } from '@wherry/service/listen-or-fail.ts';
import type { TlsFiles } from '@wherry/service/tls/tls-files.ts';

const HEADERS_MS = 10_000;
/** A large blob over a slow line. */
const REQUEST_MS = 5 * 60_000;
/** Running requests get this long to finish when the manager stops. */
const DRAIN_MS = 10_000;
/** The operator's replicas, with some connections each. */
const MAX_CONNECTIONS = 256;
/**
 * No tickets: a resumed session counts by the certificate of its first connection, whatever authority is active by now.
 */
const SECURE = { minVersion: 'TLSv1.3', secureOptions: constants.SSL_OP_NO_TICKET } as const;

interface ListenInternalOptions {
  listener: RequestListener;
  tls: Pick<TlsFiles, 'current' | 'onChange'>;
  host?: string | undefined;
  port: number;
  clock: Clock;
  logger: Logger;
}

/**
 * Listens with TLS for clients that hold a certificate of the internal authority. New certificates are active for the
 * next connection.
 * @returns the port in use, and how to let running requests finish and close it.
 * @throws StartError for a port that is in use or may not be opened.
 */
export async function listenInternal({
  listener,
  tls,
  host,
  port,
  clock,
  logger,
}: ListenInternalOptions): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer(
    {
      ...tls.current(),
      ...SECURE,
      requestCert: true,
      rejectUnauthorized: true,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
    },
    listener,
  );
  server.maxConnections = MAX_CONNECTIONS;
  const stopFollowing = tls.onChange((material) => server.setSecureContext({ ...material, ...SECURE }));
  server.on('tlsClientError', ({ message }, socket) =>
    logger.debug({ reason: message, peer: socket.remoteAddress }, 'a connection to the internal listener was refused'),
  );
  return {
    port: await listenOrFail(server, { host, port }, 'WHERRY_INTERNAL_PORT'),
    async close() {
      stopFollowing();
      await drainServer(server, { clock, boundMs: DRAIN_MS });
    },
  };
}
