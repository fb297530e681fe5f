import { request } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { startOpsListener, type HealthCheck, type MetricsText } from '@wherry/service/ops/ops-listener.ts';

/** Metrics and health are only for this machine. */
const HOST = '127.0.0.1';
const ROUTER_MS = 2000;

interface StartOpsOptions {
  port: number;
  registry: MetricsText;
  /** Where the router's process shows its own. */
  routerSocket: string;
  readyz: HealthCheck;
  clock: Clock;
  logger: Logger;
}

/**
 * The ops listener on loopback: `/metrics` of this process, `/metrics/router` of the router's, `/livez`, `/readyz`.
 * @returns its URL; undefined where it could not be opened: that is logged, and the service continues.
 */
export async function startOps(options: StartOpsOptions, parts: AsyncDisposableStack): Promise<string | undefined> {
  const { routerSocket, registry, logger } = options;
  const router: MetricsText = { contentType: registry.contentType, metrics: () => readRouter(routerSocket) };
  try {
    const listener = await startOpsListener({ ...options, host: HOST, more: { '/metrics/router': router } });
    parts.defer(() => listener.close());
    // Not `localhost`: that may be ::1, where it does not listen.
    return `http://${HOST}:${listener.port}`;
  } catch (error) {
    logger.warn(
      { problem: (error as Error).message },
      'the service runs without its ops listener: its metrics cannot be read',
    );
    return undefined;
  }
}

/** @throws where the router is just being started again. */
function readRouter(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path: '/metrics', timeout: ROUTER_MS, agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => (text += chunk));
      incoming.once('error', reject);
      incoming.once('end', () => (incoming.statusCode === 200 ? resolve(text) : reject(new Error(text.trim()))));
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error('the router does not answer')));
    outgoing.once('error', reject);
    outgoing.end();
  });
}
