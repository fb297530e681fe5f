import { existsSync } from 'node:fs';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, Pool, ProxyAgent, type Dispatcher } from 'undici';
import { unavailable } from './status-error.ts';

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/**
 * How long credentials are used before their files are read again: the predecessor of a rotated token lives for
 * minutes.
 */
const CREDENTIALS_MS = 60_000;
const CONNECT_LIMIT_MS = 5000;
/** Shorter than the API server keeps a connection, so that the client is the one to close it. */
const KEEP_ALIVE_MS = 20_000;

/** TLS material, headers and proxy as client-node finds them. */
interface Credentials {
  headers: Record<string, string>;
  /** `http://`, `https://` or `socks5://`; empty for none. */
  proxyUrl: string;
  tls: {
    ca?: unknown;
    cert?: unknown;
    key?: unknown;
    pfx?: unknown;
    passphrase?: string;
    servername?: string;
    rejectUnauthorized?: boolean;
  };
}

interface Loaded {
  headers: Record<string, string>;
  agent: Dispatcher;
}

export interface SentRequest {
  method: Dispatcher.HttpMethod;
  path: string;
  headers: Record<string, string>;
  body?: string | undefined;
  signal: AbortSignal;
}

/**
 * Where the API server is, and our credentials for it. Files of a kubeconfig or of a service account are read again
 * each minute, and at once after a 401; connections are made again only when certificates have changed.
 */
export class Connection {
  readonly #kubeconfig: string | undefined;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #origin: string;
  readonly #prefix: string;
  #loaded: { at: number; credentials: Promise<Loaded> } | undefined;
  #agent: { agent: Dispatcher; way: string } | undefined;

  /** @throws StartError where there is neither a kubeconfig nor a service account */
  constructor(kubeconfig: string | undefined, clock: Pick<Clock, 'monotonic'>) {
    this.#kubeconfig = kubeconfig;
    this.#clock = clock;
    const url = new URL(serverOf(readConfig(kubeconfig)));
    this.#origin = url.origin;
    this.#prefix = url.pathname.replace(/\/$/, '');
  }

  /** Sends one request. A 401 is retried once with credentials that are read again. */
  async send(request: SentRequest): Promise<Dispatcher.ResponseData> {
    const first = await this.#sendOnce(request);
    if (first.statusCode !== 401) return first;
    await first.body.dump();
    this.#loaded = undefined;
    return this.#sendOnce(request);
  }

  /** Ends all connections, running requests included. */
  async close(): Promise<void> {
    await this.#agent?.agent.destroy();
  }

  async #sendOnce({ method, path, headers, body, signal }: SentRequest): Promise<Dispatcher.ResponseData> {
    const loaded = await this.#current();
    return loaded.agent.request({
      origin: this.#origin,
      path: this.#prefix + path,
      method,
      headers: { ...headers, ...loaded.headers },
      body: body ?? null,
      signal,
    });
  }

  #current(): Promise<Loaded> {
    const now = this.#clock.monotonic();
    if (this.#loaded === undefined || now - this.#loaded.at >= CREDENTIALS_MS) {
      const next = { at: now, credentials: this.#load() };
      this.#loaded = next;
      // A failure to read is not cached for a minute.
      next.credentials.catch(() => {
        if (this.#loaded === next) this.#loaded = undefined;
      });
    }
    return this.#loaded.credentials;
  }

  async #load(): Promise<Loaded> {
    const { headers, ...way } = await readCredentials(readConfig(this.#kubeconfig)).catch(() => {
      throw unavailable(
        'The credentials for the API server cannot be read: check the kubeconfig or the service account',
      );
    });
    return { headers, agent: this.#agentFor(way) };
  }

  #agentFor(way: Omit<Credentials, 'headers'>): Dispatcher {
    const text = JSON.stringify(way);
    if (this.#agent?.way === text) return this.#agent.agent;
    const old = this.#agent?.agent;
    const agent = createAgent(way);
    this.#agent = { agent, way: text };
    // Its running requests are allowed to finish.
    void old?.close().catch(() => undefined);
    return agent;
  }
}

function createAgent({ tls, proxyUrl }: Omit<Credentials, 'headers'>): Dispatcher {
  const connect = { ...tls, timeout: CONNECT_LIMIT_MS } as NonNullable<ProxyAgent.Options['requestTls']>;
  const options = {
    // One connection per running request: a stalled one blocks no other.
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // Each request has its own limit.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (proxyUrl === '') return new Agent({ ...options, connect });
  return new ProxyAgent({
    ...options,
    uri: proxyUrl,
    requestTls: connect,
    proxyTls: { timeout: CONNECT_LIMIT_MS },
    // A request's own limit begins with its connection: a proxy that does not answer CONNECT has none but this.
    clientFactory: (origin, pool) => new Pool(origin, { ...pool, headersTimeout: CONNECT_LIMIT_MS }),
  });
}

function readConfig(kubeconfig: string | undefined): KubeConfig {
  const config = new KubeConfig();
  if (kubeconfig === undefined) {
    if (!existsSync(SERVICE_ACCOUNT_TOKEN)) {
      throw new StartError(
        'There is no service account on this machine: run the program in a pod, or set KUBECONFIG to the path of a kubeconfig',
      );
    }
    config.loadFromCluster();
    return config;
  }
  try {
    config.loadFromFile(kubeconfig);
  } catch {
    // Its message may contain a part of the file.
    throw new StartError(`KUBECONFIG names ${kubeconfig}, which cannot be read as a kubeconfig`);
  }
  return config;
}

function serverOf(config: KubeConfig): string {
  const server = config.getCurrentCluster()?.server;
  if (server === undefined || !URL.canParse(server))
    throw new StartError('The kubeconfig has no current context with a server');
  return server;
}

async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const found: Credentials['tls'] & { headers?: Record<string, string>; auth?: string } = {};
  await config.applyToHTTPSOptions(found as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = found;
  const tls = Object.fromEntries(
    Object.entries({ ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  const basic =
    found.auth === undefined ? {} : { authorization: `Basic ${Buffer.from(found.auth).toString('base64')}` };
  const headers = Object.entries(found.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value.trim()]);
  return {
    headers: { ...basic, ...(Object.fromEntries(headers) as Record<string, string>) },
    tls,
    proxyUrl: config.getCurrentCluster()?.proxyUrl ?? '',
  };
}
