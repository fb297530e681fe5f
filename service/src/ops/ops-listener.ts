import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { listenOrFail } from '../listen-or-fail.ts';

/** What `/metrics` prints: prom-client's Registry is one. */
export interface MetricsText {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/** Why it is not well, for a person; undefined: it is. */
export type HealthCheck = () => string | undefined;

export interface OpsListenerOptions {
  /** 0: any free port. */
  port: number;
  /** Address to listen on; every one when unset. */
  host?: string;
  /** A Unix socket to listen on instead of a port, which is 0 then. */
  socketPath?: string;
  registry: MetricsText;
  /** More texts by path, of other processes say: `/metrics/router`. */
  more?: Readonly<Record<string, MetricsText>>;
  /** Whether a restart would help; without it, that it answers is all. */
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
  text: string;
}

/** Slow readers of `/metrics` and idle connections of probes are not waited for. */
const HEADERS_TIMEOUT_MS = 5000;
const PLAIN = 'text/plain; charset=utf-8';

/**
 * The port for whoever looks after a program: `/metrics` for Prometheus, `/livez` and `/readyz` for probes (200 `ok`,
 * else 503 and the reason in one line). Plain HTTP without a key: it serves metrics and health, nothing of any caller.
 * @throws StartError for a port that is taken or may not be opened.
 */
export async function startOpsListener(options: OpsListenerOptions): Promise<OpsListener> {
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: HEADERS_TIMEOUT_MS },
    opsRequests(options),
  );
  const { port, host, socketPath } = options;
  const bound =
    socketPath === undefined
      ? await listenOrFail(server, { port, host }, 'OPS_PORT', 'OPS_HOST')
      : await listenOrFail(server, { path: socketPath, mode: 0o600 }, 'WHERRY_OPS_SOCKET');
  return { port: bound, close: () => closeServer(server) };
}

function opsRequests(options: OpsListenerOptions): RequestListener {
  const texts = new Map(Object.entries({ '/metrics': options.registry, ...options.more }));
  const readyz = logChanges(options);
  return (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const answer = (given: Answer): void => {
      const { status, contentType, text } =
        request.method === 'GET' || request.method === 'HEAD' ? given : health(405, 'Only GET.');
      response.writeHead(status, { 'Content-Type': contentType, 'Cache-Control': 'no-store' });
      response.end(text);
    };
    // Nothing that is sent here is read.
    request.resume();
    const text = texts.get(path);
    if (text !== undefined) void readMetrics(text, options.logger).then(answer);
    else if (path === '/livez') answer(healthOf(options.livez));
    else if (path === '/readyz') answer(healthOf(readyz));
    else answer(health(404, 'There are /metrics, /livez and /readyz.'));
  };
}

async function readMetrics(source: MetricsText, logger: Logger): Promise<Answer> {
  try {
    return { status: 200, contentType: source.contentType, text: await source.metrics() };
  } catch (error) {
    logger.warn({ err: error }, 'the metrics cannot be read');
    return health(503, 'The metrics cannot be read now.');
  }
}

function healthOf(check: HealthCheck | undefined): Answer {
  const problem = check?.();
  return problem === undefined ? health(200, 'ok') : health(503, problem);
}

const health = (status: number, line: string): Answer => ({ status, contentType: PLAIN, text: `${line}\n` });

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
