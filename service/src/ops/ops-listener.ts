import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { boundConnections } from '../bounded-connections.ts';
import { listenOrFail } from '../listen-or-fail.ts';

/** What `/metrics` prints: prom-client's Registry is one. */
export interface MetricsText {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/** Why the program is not healthy, for a person; undefined if it is. */
export type HealthCheck = () => string | undefined;

export interface OpsListenerOptions {
  /** 0: any free port. */
  port: number;
  /** Address to listen on; every one when unset. */
  host?: string;
  /** A Unix socket to listen on instead of a port, which is 0 then. */
  socketPath?: string;
  registry: MetricsText;
  /** More texts by path, for example of other processes: `/metrics/router`. */
  more?: Readonly<Record<string, MetricsText>>;
  /** Whether a restart would help; without it, any answer means that the program is alive. */
  livez?: HealthCheck;
  /** Whether it can do its work now. */
  readyz: HealthCheck;
  clock: Clock;
  logger: Logger;
}

export interface OpsListener {
  readonly port: number;
  close(): Promise<void>;
}

interface Answer {
  status: number;
  contentType: string;
  /** As bytes, those who read the same answer share it. */
  bytes: Buffer;
}

/** More than probes and scrapers need: who takes all of them shuts none of those out, because idle ones are replaced. */
const LIMITS = { connections: 64, connectionsPerAddress: 32 };
const REQUEST_TIMEOUT_MS = 5000;
/** How often Node checks for connections whose request is late. */
const CHECK_INTERVAL_MS = 1000;
const PLAIN = 'text/plain; charset=utf-8';

/**
 * The port for operating a program: `/metrics` for Prometheus, `/livez` and `/readyz` for probes (200 `ok`, else 503
 * and the reason in one line). Plain HTTP without a key: it serves metrics and health, and no data of callers. What
 * unknown callers cost is bounded (M10): connections, one open request on each, and one reading of metrics at a time.
 * @throws StartError for a port that is in use or may not be opened.
 */
export async function startOpsListener(options: OpsListenerOptions): Promise<OpsListener> {
  const server = createServer({
    headersTimeout: REQUEST_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  });
  boundConnections(server, opsRequests(options), { limits: LIMITS, trustedProxies: [], maxOpen: 1 });
  const { port, host, socketPath } = options;
  const bound =
    socketPath === undefined
      ? await listenOrFail(server, { port, host }, 'OPS_PORT', 'OPS_HOST')
      : await listenOrFail(server, { path: socketPath, mode: 0o600 }, 'WHERRY_OPS_SOCKET');
  return { port: bound, close: () => closeServer(server) };
}

function opsRequests(options: OpsListenerOptions): RequestListener {
  const { registry, more, logger } = options;
  const sources = Object.entries({ '/metrics': registry, ...more });
  const readings = new Map(sources.map(([path, source]) => [path, sharedReading(source, logger)]));
  const readyz = logChanges(options);
  const paths = [...readings.keys(), '/livez'].join(', ');
  return (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const answer = ({ status, contentType, bytes }: Answer): void => {
      if (response.destroyed) return;
      response.writeHead(status, { 'Content-Type': contentType, 'Cache-Control': 'no-store' });
      response.end(bytes);
    };
    // Nothing that is sent here is read.
    request.resume();
    const read = readings.get(path);
    if (request.method !== 'GET' && request.method !== 'HEAD') answer(health(405, 'Only GET is allowed.'));
    else if (read !== undefined) void read().then(answer);
    else if (path === '/livez') answer(healthOf(options.livez));
    else if (path === '/readyz') answer(healthOf(readyz));
    else answer(health(404, `Not found. There are ${paths} and /readyz.`));
  };
}

/** Reads metrics once for all who ask while they are being read. */
function sharedReading(source: MetricsText, logger: Logger): () => Promise<Answer> {
  let reading: Promise<Answer> | undefined;
  return () => {
    reading ??= readMetrics(source, logger).finally(() => (reading = undefined));
    return reading;
  };
}

async function readMetrics(source: MetricsText, logger: Logger): Promise<Answer> {
  try {
    return { status: 200, contentType: source.contentType, bytes: Buffer.from(await source.metrics()) };
  } catch (error) {
    logger.warn({ err: error }, 'the metrics cannot be read');
    return health(503, 'The metrics cannot be read at the moment.');
  }
}

function healthOf(check: HealthCheck | undefined): Answer {
  const problem = check?.();
  return problem === undefined ? health(200, 'ok') : health(503, problem);
}

const health = (status: number, line: string): Answer => ({
  status,
  contentType: PLAIN,
  bytes: Buffer.from(`${line}\n`),
});

/** Logs when the answer changes, so that a log shows since when, and why, a program was out of service. */
function logChanges({ readyz, clock, logger }: OpsListenerOptions): HealthCheck {
  let last: string | undefined = '';
  let since = clock.monotonic();
  return () => {
    const problem = readyz();
    if (problem === last) return problem;
    const seconds = Math.round(clock.monotonic() - since) / 1000;
    since = clock.monotonic();
    last = problem;
    if (problem === undefined) logger.info({ afterSeconds: seconds }, 'ready');
    else logger.info({ reason: problem }, 'not ready');
    return problem;
  };
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
