import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { CONTEXT_HEADER, TOKEN_HEADER, type InvocationContext } from '@wherry/core/feed/invocation.ts';
import {
  runtimeUpSchema,
  type RuntimeFunction,
  type RuntimeSecret,
  type RuntimeState,
  type RuntimeUp,
} from '@wherry/core/feed/messages.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { runtimeNodeFlags } from '../node-flags.ts';

type Outcome = Extract<RuntimeUp, { type: 'loaded' | 'failed' }>;

export const TOKEN = 'invocation-token';
const MAIN = path.join(import.meta.dirname, '..', 'main.ts');

export interface TestInstanceOptions {
  /** The artifact's text. */
  artifact: string;
  revision?: string;
  function?: Partial<RuntimeFunction>;
  secrets?: RuntimeSecret[];
  logLevel?: string;
  environment?: Record<string, string>;
  /** The program: `main.ts` itself unless specified otherwise. */
  main?: string;
  tcp?: boolean;
}

interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: string;
}

interface CallOptions {
  method?: string;
  path?: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
  /** Null sends none, and so for the token. */
  context?: Partial<InvocationContext> | null;
  token?: string | null;
}

/** A runtime in a process of its own, as the service starts it, and the other end of its feed. */
export class TestInstance {
  readonly child: ChildProcess;
  readonly directory = mkdtempSync(path.join(tmpdir(), 'wherry-runtime-'));
  readonly ups: RuntimeUp[] = [];
  readonly exited: Promise<number | null>;
  stderr = '';
  readonly #feed;
  /** Connections are kept, as the router keeps them. */
  readonly #agent = new Agent({ keepAlive: true });
  #onUp: (() => void)[] = [];
  readonly #options: TestInstanceOptions;

  constructor(options: TestInstanceOptions) {
    this.#options = options;
    const program = options.main ?? MAIN;
    // Unbundled, it reads its own sources; the permission model is tried with the bundle.
    const flags = runtimeNodeFlags({ memoryMiB: 128, temporaryDirectory: this.directory });
    const readable = program.endsWith('.ts') ? ['--allow-fs-read=*', '--disable-warning=ExperimentalWarning'] : [];
    this.child = spawn(process.execPath, [...flags, ...readable, program], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: { ...options.environment },
    });
    this.exited = once(this.child, 'close').then(([code]) => code as number | null);
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.#feed = jsonLines(this.child.stdio[3] as Duplex);
    void this.#read();
  }

  get state(): RuntimeState {
    const { function: fn = {}, secrets = [], logLevel = 'debug' } = this.#options;
    const base = { id: 'hello', namespace: 'default', name: 'Hello', description: null, handler: 'my-api/hello.ts' };
    const rest = { route: '/*', methods: ['GET', 'POST'], keyGroups: null, debug: false };
    return { function: { ...base, ...rest, ...fn }, settings: { logLevel }, secrets };
  }

  /** Sends `start`; resolves with its outcome. */
  async start(): Promise<Outcome> {
    const { artifact, revision = createHash('sha256').update(artifact).digest('hex') } = this.#options;
    const listen =
      this.#options.tcp === true ? { host: '127.0.0.1', port: 0 } : { path: path.join(this.directory, 'call.sock') };
    this.#feed.send({ type: 'start', revision, artifact, invocationToken: TOKEN, listen, state: this.state });
    await this.until(() => this.#outcome() !== undefined);
    const outcome = this.#outcome();
    if (outcome === undefined) throw new Error('the runtime did not say how its start ended');
    return outcome;
  }

  send(message: object): void {
    this.#feed.send(message);
  }

  closeFeed(): void {
    this.#feed.close();
  }

  get logs() {
    return this.ups.flatMap((up) => (up.type === 'logs' ? up.entries : []));
  }

  /** Resolves once the condition holds; looked at whenever something came up the feed, and at its end. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      const next = new Promise<void>((resolve) => this.#onUp.push(resolve));
      const ended = await Promise.race([next.then(() => false), this.#feed.closed.then(() => true)]);
      if (ended && !condition()) throw new Error(`the runtime is gone: ${this.stderr}`);
    }
  }

  /** Opens a call; the answer's head is there, its body is the caller's to read. */
  async open(options: CallOptions = {}): Promise<IncomingMessage> {
    const outgoing = request(this.#target(options));
    // An answer may come, and the connection go, before the request was written.
    outgoing.on('error', () => undefined);
    outgoing.end(options.body);
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    return incoming;
  }

  /** A request that is still to be written. */
  begin(options: CallOptions = {}) {
    return request(this.#target(options));
  }

  async call(options: CallOptions = {}): Promise<Reply> {
    const incoming = await this.open(options);
    let body = '';
    for await (const chunk of incoming) body += (chunk as Buffer).toString();
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, rawHeaders: incoming.rawHeaders, body };
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.exited;
    this.#agent.destroy();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #target({ method = 'GET', path: target = '/', headers = {}, context = {}, token = TOKEN }: CallOptions) {
    const loaded = this.ups.find((up) => up.type === 'loaded');
    if (loaded?.type !== 'loaded') throw new Error('the runtime has not loaded');
    const { address } = loaded;
    const where = 'path' in address ? { socketPath: address.path } : { host: address.host, port: address.port };
    return {
      ...where,
      method,
      path: target,
      agent: this.#agent,
      headers: {
        host: 'api.example.com',
        ...headers,
        ...(token !== null && { [TOKEN_HEADER]: token }),
        ...contextHeader(context),
      },
    };
  }

  #outcome(): Outcome | undefined {
    return this.ups.find((up): up is Outcome => up.type === 'loaded' || up.type === 'failed');
  }

  async #read(): Promise<void> {
    for await (const message of this.#feed.messages()) {
      this.ups.push(runtimeUpSchema.parse(message));
      const waiting = this.#onUp;
      this.#onUp = [];
      for (const resolve of waiting) resolve();
    }
  }
}

function contextHeader(given: Partial<InvocationContext> | null): OutgoingHttpHeaders {
  if (given === null) return {};
  const context: InvocationContext = {
    requestId: 'r-1',
    requestedAt: Date.now(),
    timeoutMs: 10_000,
    params: {},
    scheme: 'http',
    ...given,
  };
  return { [CONTEXT_HEADER]: Buffer.from(JSON.stringify(context)).toString('base64url') };
}
