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
import type { HeldSocket } from '@wherry/service/hold-port.ts';
import { spawnChild } from '@wherry/service/spawn-child.ts';
import { StartError } from '@wherry/service/start-error.ts';

/** A router that lived for ten seconds counts as healthy: the next restart is quick again. */
const RESTARTS = { firstMs: 100, lastMs: 5000, healthyMs: 10_000 };

interface RouterProcessOptions {
  /** The router's program. */
  program: string;
  /** Its whole environment, beside the number of sockets. */
  environment: Record<string, string>;
  /** Those of the function port: each router listens on the same ones. */
  sockets: readonly HeldSocket[];
  clock: Clock;
  logger: Logger;
}

interface Launched {
  child: ChildProcess;
  channel: FeedChannel;
}

/** The router as a child process, which is restarted when it dies. */
export class RouterProcess {
  /** Resolves when it listens. Rejects with StartError and the router's own message when the first start fails. */
  readonly listening: Promise<unknown>;
  readonly #options: RouterProcessOptions;
  readonly #served = Promise.withResolvers<(channel: FeedChannel) => void>();
  readonly #stopping = new AbortController();
  readonly #supervised: Promise<void>;
  #child: ChildProcess | undefined;

  /** Starts the router at once, while its feed is not yet served. */
  constructor(options: RouterProcessOptions) {
    this.#options = options;
    const first = this.#launch();
    this.listening = first;
    this.#supervised = first.then(({ child }) => this.#supervise(child));
    // A start that fails rejects `listening`.
    this.listening.catch(() => undefined);
    this.#supervised.catch(() => undefined);
  }

  /** Serves the feed of each router: the running one, and those started after it. */
  serve(attach: (channel: FeedChannel) => void): void {
    this.#served.resolve(attach);
  }

  /** Lets running calls finish and ends it. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill('SIGTERM');
    await this.#supervised.catch(() => undefined);
  }

  async #supervise(first: ChildProcess): Promise<void> {
    const { clock, logger } = this.#options;
    const backoff = new Backoff(RESTARTS);
    let child: ChildProcess | undefined = first;
    for (;;) {
      const since = clock.monotonic();
      if (child !== undefined) await ended(child);
      if (this.#stopping.signal.aborted) return;
      const retryInMs = backoff.failed(clock.monotonic() - since);
      logger.error(
        { exitCode: child?.exitCode, signal: child?.signalCode, retryInMs },
        'the router ended; starting it again (metrics of calls since its last report are lost)',
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
      this.#options.logger.error({ err: error }, 'the router could not be started');
      return undefined;
    }
  }

  async #launch(): Promise<Launched> {
    const child = spawnRouter(this.#options);
    this.#child = child;
    const launched = await untilListening(child);
    void this.#served.promise.then((attach) => attach(launched.channel));
    return launched;
  }
}

function spawnRouter({ program, environment, sockets }: RouterProcessOptions): ChildProcess {
  // A process group of its own: Ctrl-C in a terminal signals the service alone, which signals the router in its turn.
  return spawnChild(process.execPath, [...NODE_FLAGS, program], {
    env: { ...environment, WHERRY_FUNCTION_SOCKETS: String(sockets.length) },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe', ...sockets.map(({ fd }) => fd)],
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
    await Promise.race([failed, checkStart(await messages.next(), child)]);
    return { child, channel: { ...channel, messages: () => ({ [Symbol.asyncIterator]: () => messages }) } };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** A router's first message says whether it listens. The end of the feed without one means that it died. */
async function checkStart(first: IteratorResult<unknown>, child: ChildProcess): Promise<void> {
  const message = routerUpSchema.safeParse(first.value).data;
  if (message?.type === 'listening') return;
  if (message?.type === 'failed') throw new StartError(message.message);
  await ended(child);
  throw new StartError(
    `The router ended while it was starting (${child.signalCode ?? `exit code ${child.exitCode}`}).`,
  );
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
