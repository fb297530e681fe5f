import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as sendRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { kubeconfigText, type ApiServer } from './api-server.ts';

/** A request as it came to the proxy. */
export interface ProxiedRequest {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  kind: 'read' | 'list' | 'watch' | 'write';
  /** For a write: 1 for the first that the proxy has seen. */
  write?: number;
  /** Monotonic milliseconds. */
  at: number;
}

/**
 * What happens to a request: `drop` ends its connection before the server sees it; `drop-answer` after the server has
 * done it; `silence` takes it and never says anything; `answer` answers in the server's place, with a Status of the
 * code; `serve` answers in the server's place too, with the given text; `event` sends a line at the begin of a watch
 * (an ERROR event, half a line), then goes on; `delay` lets it through later.
 */
export type Fault =
  | { type: 'drop' | 'drop-answer' | 'silence' }
  | { type: 'answer'; code: number }
  | { type: 'serve'; serve: Serve }
  | { type: 'event'; line: string }
  | { type: 'delay'; ms: number };

/** Answers a request of which it is given the body, if it has one. */
export type Serve = (request: ProxiedRequest, body: object | undefined) => { code: number; body: object };

export interface Rule {
  when: (request: ProxiedRequest) => boolean;
  fault: Fault;
  /** How often; by default until it is removed. */
  times?: number;
}

/** A watch that runs through the proxy now. */
interface RunningWatch {
  path: string;
  /** Passes nothing on any more, and keeps the connection. */
  silence(): void;
  cut(): void;
  /** As the server itself ends it. */
  end(): void;
  send(line: string): void;
}

/** A proxy in front of a real kube-apiserver with levers for every fault of a network and of a server. */
export interface FaultProxy {
  url: string;
  /** Path of a kubeconfig that leads through the proxy. */
  kubeconfig: string;
  /** All that came, in order; empty it to count again. */
  requests: ProxiedRequest[];
  /** The first rule that fits decides. Returns how to remove it. */
  inject(rule: Rule): () => void;
  /** The n-th write from now (1: the next one) does not reach the server, or its answer does not reach the client. */
  failWrite(n: number, where: 'before' | 'after'): void;
  /**
   * From now on nothing passes, running watches included, until the returned function is called: the server is away.
   */
  sever(): () => void;
  watches(): RunningWatch[];
  stop(): Promise<void>;
}

export async function startFaultProxy(server: ApiServer): Promise<FaultProxy> {
  const state = new ProxyState(server);
  // The server's own certificate: a client cannot distinguish the two.
  const [cert, key] = await Promise.all(
    ['apiserver.crt', 'apiserver.key'].map((file) => readFile(path.join(server.folder, file))),
  );
  const listener = createServer(
    { cert, key },
    (request, response) => void state.handle(request, response).catch(() => response.destroy()),
  );
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const url = `https://127.0.0.1:${port}`;
  const kubeconfig = path.join(server.folder, `kubeconfig-${port}`);
  await writeFile(kubeconfig, kubeconfigText({ url, ca: server.ca, token: server.token }), { mode: 0o600 });
  return {
    url,
    kubeconfig,
    requests: state.requests,
    inject: (rule) => state.inject(rule),
    failWrite: (n, where) => state.failWrite(n, where),
    sever: () => state.sever(listener),
    watches: () => [...state.watches],
    stop: () => state.stop(listener),
  };
}

class ProxyState {
  readonly requests: ProxiedRequest[] = [];
  readonly watches = new Set<RunningWatch>();
  readonly #server: ApiServer;
  readonly #agent: Agent;
  #rules: Rule[] = [];
  #writes = 0;

  constructor(server: ApiServer) {
    this.#server = server;
    this.#agent = new Agent({ ca: server.ca, keepAlive: true });
  }

  inject(rule: Rule): () => void {
    const own = { ...rule };
    this.#rules.push(own);
    return () => (this.#rules = this.#rules.filter((other) => other !== own));
  }

  failWrite(n: number, where: 'before' | 'after'): void {
    const number = this.#writes + n;
    this.inject({
      when: ({ write }) => write === number,
      fault: { type: where === 'before' ? 'drop' : 'drop-answer' },
      times: 1,
    });
  }

  sever(listener: Server): () => void {
    const rule: Rule = { when: () => true, fault: { type: 'drop' } };
    this.#rules.unshift(rule);
    listener.closeAllConnections();
    return () => (this.#rules = this.#rules.filter((other) => other !== rule));
  }

  async stop(listener: Server): Promise<void> {
    const closed = once(listener, 'close');
    listener.close();
    listener.closeAllConnections();
    await closed;
    this.#agent.destroy();
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const proxied = this.#note(request);
    const fault = this.#faultFor(proxied);
    switch (fault?.type) {
      case 'silence':
        return;
      case 'drop':
        return void request.socket.destroy();
      case 'answer':
      case 'serve':
        return serveInPlace({ request, response }, proxied, fault);
      case 'delay':
        await delay(fault.ms);
        break;
      default: // What it does is done on the way.
    }
    await this.#forward({ request, response, proxied, fault });
  }

  #note(request: IncomingMessage): ProxiedRequest {
    const url = new URL(request.url ?? '/', 'http://proxy');
    const method = request.method ?? 'GET';
    const proxied: ProxiedRequest = {
      method,
      path: url.pathname,
      query: url.searchParams,
      kind: kindOf(method, url),
      at: performance.now(),
    };
    if (proxied.kind === 'write') proxied.write = this.#writes += 1;
    this.requests.push(proxied);
    return proxied;
  }

  #faultFor(request: ProxiedRequest): Fault | undefined {
    const rule = this.#rules.find(({ when, times }) => times !== 0 && when(request));
    if (rule?.times !== undefined) rule.times -= 1;
    return rule?.fault;
  }

  async #forward({
    request,
    response,
    proxied,
    fault,
  }: {
    request: IncomingMessage;
    response: ServerResponse;
    proxied: ProxiedRequest;
    fault: Fault | undefined;
  }): Promise<void> {
    const { host: _, ...headers } = request.headers;
    const upstream = sendRequest(`${this.#server.url}${request.url}`, {
      method: request.method,
      headers,
      agent: this.#agent,
    });
    upstream.once('error', () => response.destroy());
    response.once('close', () => upstream.destroy());
    request.pipe(upstream);
    const [reply] = (await once(upstream, 'response')) as [IncomingMessage];
    if (fault?.type === 'drop-answer') {
      reply.resume();
      await once(reply, 'end');
      request.socket.destroy();
      return;
    }
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    if (fault?.type === 'event') response.write(fault.line);
    if (proxied.kind === 'watch') this.#passWatch(proxied.path, reply, response);
    else reply.pipe(response);
  }

  #passWatch(path: string, reply: IncomingMessage, response: ServerResponse): void {
    response.flushHeaders();
    let silent = false;
    reply.on('data', (chunk: Buffer) => silent || response.write(chunk));
    reply.once('end', () => silent || response.end());
    reply.once('error', () => response.destroy());
    const watch: RunningWatch = {
      path,
      silence: () => void (silent = true),
      cut: () => void response.destroy(),
      end: () => void response.end(),
      send: (line) => void response.write(line),
    };
    this.watches.add(watch);
    response.once('close', () => this.watches.delete(watch));
  }
}

function kindOf(method: string, { searchParams, pathname }: URL): ProxiedRequest['kind'] {
  if (method !== 'GET') return 'write';
  if (searchParams.has('watch')) return 'watch';
  // /api/v1/namespaces/x/pods has an even number of parts after the version, and so has a cluster's own collection.
  const parts = pathname.split('/').filter((part) => part !== '');
  const inVersion = parts.length - (parts[0] === 'apis' ? 3 : 2);
  return inVersion === 1 || inVersion === 3 ? 'list' : 'read';
}

async function serveInPlace(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  proxied: ProxiedRequest,
  fault: Extract<Fault, { type: 'answer' | 'serve' }>,
): Promise<void> {
  const sent = await text(request);
  if (fault.type === 'answer') {
    const { code } = fault;
    answer(response, code, {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code,
      reason: 'Injected',
      message: 'injected',
    });
    return;
  }
  const { code, body } = fault.serve(proxied, sent === '' ? undefined : (JSON.parse(sent) as object));
  answer(response, code, body);
}

function answer(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
