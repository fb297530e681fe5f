import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { routerUpSchema } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { NODE_FLAGS } from '@wherry/router/program/node-flags.ts';
import { Backoff } from '@wherry/service/backoff.ts';
import { jsonLines } from '@wherry/service/feed/json-lines.ts';
import { spawnChild } from '@wherry/service/spawn-child.ts';
import { StartError } from '@wherry/service/start-error.ts';

/** A router that lived for ten seconds was well: the next restart comes quickly again. */
const RESTARTS = { firstMs: 100, lastMs: 5000, healthyMs: 10_000 };

interface RouterProcessOptions {
  /** The router's program. */
  program: string;
  /** Its whole environment; from the second start on, `FUNCTION_PORT` is the port that the first one got. */
  environment: Record<string, string>;
  clock: Clock;
  logger: Logger;
}

/** The router as a child process that is started again when it dies. */
export interface RouterProcess {
  /** The function port in use. Rejects with StartError and the router's own words when the first start fails. */
  readonly port: Promise<number>;
  /** Who serves the feed of each router: the running one's, and of those started after it. */
  serve(attach: (channel: FeedChannel) => void): void;
  /** Lets running calls finish and ends it. */
  stop(): Promise<void>;
}

/** Starts the router at once, while its feed is not yet served. */
export function startRouterProcess(options: RouterProcessOptions): RouterProcess {
  return new Supervisor(options);
}

interface Launched {
  child: ChildProcess;
  port: number;
  channel: FeedChannel;
}

class Supervisor implements RouterProcess {
  readonly port: Promise<number>;
  readonly #options: RouterProcessOptions;
  readonly #environment: Record<string, string>;
  readonly #served = Promise.withResolvers<(channel: FeedChannel) => void>();
  readonly #stopping = new AbortController();
  readonly #supervised: Promise<void>;
  #child: ChildProcess | undefined;

  constructor(options: RouterProcessOptions) {
    this.#options = options;
    this.#environment = { ...options.environment };
    const first = this.#launch();
    this.port = first.then(({ port }) => port);
    this.#supervised = first.then(({ child, port }) => this.#supervise(child, port));
    // A start that fails rejects `port`.
    this.port.catch(() => undefined);
    this.#supervised.catch(() => undefined);
  }

  serve(attach: (channel: FeedChannel) => void): void {
    this.#served.resolve(attach);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill('SIGTERM');
    await this.#supervised.catch(() => undefined);
  }

  async #supervise(first: ChildProcess, port: number): Promise<void> {
    const { clock, logger } = this.#options;
    this.#environment.FUNCTION_PORT = String(port);
    const backoff = new Backoff(RESTARTS);
    let child: ChildProcess | undefined = first;
    for (;;) {
      const since = clock.monotonic();
      if (child !== undefined) await ended(child);
      if (this.#stopping.signal.aborted) return;
      const retryInMs = backoff.failed(clock.monotonic() - since);
      logger.error(
        { exitCode: child?.exitCode, signal: child?.signalCode, retryInMs },
        'the router ended; it is started again',
      );
      await clock.sleep(retryInMs, this.#stopping.signal).catch(() => undefined);
      child = await this.#relaunch();
    }
  }

  async #relaunch(): Promise<ChildProcess | undefined> {
    if (this.#stopping.signal.aborted) return undefined;
    try {
      return (await this.#launch()).child;
    } catch (error) {
      this.#options.logger.error({ err: error }, 'the router does not start');
      return undefined;
    }
  }

  async #launch(): Promise<Launched> {
    const child = spawnRouter(this.#options.program, this.#environment);
    this.#child = child;
    const launched = await untilListening(child);
    void this.#served.promise.then((attach) => attach(launched.channel));
    return launched;
  }
}

function spawnRouter(program: string, environment: Record<string, string>): ChildProcess {
  // A process group of its own: Ctrl-C in a terminal signals the service alone, which signals the router in its turn.
  return spawnChild(process.execPath, [...NODE_FLAGS, program], {
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    detached: true,
  });
}

async function untilListening(child: ChildProcess): Promise<Launched> {
  const failed = once(child, 'error').then(([error]) =>
    Promise.reject(new StartError(`The router cannot be started: ${String(error)}`)),
  );
  failed.catch(() => undefined);
  try {
    const channel = jsonLines(child.stdio[3] as Duplex);
    const messages = channel.messages()[Symbol.asyncIterator]();
    const port = await Promise.race([failed, portOf(await messages.next(), child)]);
    return { child, port, channel: { ...channel, messages: () => ({ [Symbol.asyncIterator]: () => messages }) } };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** A router's first message says whether it listens. The end of the feed without one means that it died. */
async function portOf(first: IteratorResult<unknown>, child: ChildProcess): Promise<number> {
  const message = routerUpSchema.safeParse(first.value).data;
  if (message?.type === 'listening') return message.port;
  if (message?.type === 'failed') throw new StartError(message.message);
  await ended(child);
  throw new StartError(`The router ended while it started (${child.signalCode ?? `exit code ${child.exitCode}`}).`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
