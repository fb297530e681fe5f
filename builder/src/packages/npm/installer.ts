import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import {
  failure,
  openInstallSession,
  type Answer,
  type InstallSession,
  type Order,
  type InstallPeer,
} from './install-session.ts';
import { createTurns } from './turns.ts';

/** Authors who edit come back within this time; else the process's memory is freed. */
const IDLE_MS = 5 * 60_000;

const UNREACHABLE = failure('InstallFailed', 'The install process cannot be reached.');
const ENDED = failure('InstallFailed', 'The install process ended unexpectedly.');
const OUT_OF_MEMORY = failure(
  'InstallOutOfMemory',
  'The install process ended twice while it worked on these packages, the second time on nothing else. Most likely it ran out of memory: depend on fewer or smaller packages.',
);

/** Delegates requests to the registry to another process, which is started, or connected to, on demand. */
export interface Installer {
  /** @throws the signal's reason. */
  request(order: Order, signal: AbortSignal): Promise<Answer>;
  stop(): Promise<void>;
}

interface InstallerOptions {
  /** @throws Error when the process is not available. */
  start: (signal: AbortSignal) => Promise<InstallPeer>;
  /**
   * Whether the end of the process may be an order's doing: then each order that was open runs again, alone, and fails
   * for good when the process ends again. So one order that needs too much memory does not fail the others for ever.
   */
  retriesAlone: boolean;
  /** Of one order. */
  timeoutMs: number;
  clock: Clock;
  logger: Logger;
}

interface Running {
  peer: InstallPeer;
  session: InstallSession;
}

export function createInstaller(options: InstallerOptions): Installer {
  return new OnDemandInstaller(options);
}

class OnDemandInstaller implements Installer {
  readonly #options: InstallerOptions;
  readonly #turns = createTurns();
  readonly #stopping = new AbortController();
  #running: Promise<Running> | undefined;
  #stopIdle = (): void => undefined;

  constructor(options: InstallerOptions) {
    this.#options = options;
  }

  async request(order: Order, signal: AbortSignal): Promise<Answer> {
    const answer = await this.#together(order, signal);
    if (answer !== undefined) return answer;
    if (!this.#options.retriesAlone || this.#stopping.signal.aborted) return ENDED;
    return this.#alone(order, signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the installer is stopping'));
    await this.#end();
    this.#stopIdle();
  }

  async #together(order: Order, signal: AbortSignal): Promise<Answer | undefined> {
    const leave = await this.#turns.together(signal);
    try {
      return await this.#request(order, signal);
    } finally {
      leave();
      this.#endIdleLater();
    }
  }

  /** In a process of its own: that of others may still be busy with an order that was cancelled. */
  async #alone(order: Order, signal: AbortSignal): Promise<Answer> {
    const leave = await this.#turns.alone(signal);
    try {
      await this.#end();
      const answer = await this.#request(order, signal);
      return answer ?? (this.#stopping.signal.aborted ? ENDED : OUT_OF_MEMORY);
    } finally {
      await this.#end();
      leave();
    }
  }

  async #request(order: Order, signal: AbortSignal): Promise<Answer | undefined> {
    this.#stopIdle();
    const found = await this.#current().catch((err: unknown) => {
      this.#options.logger.error({ err }, 'the install process cannot be reached');
    });
    if (found === undefined) return UNREACHABLE;
    signal.throwIfAborted();
    return found.session.request(order, signal);
  }

  /** The running process, or a new one; one that ends or fails to start is forgotten. */
  #current(): Promise<Running> {
    if (this.#running !== undefined) return this.#running;
    const started = this.#start();
    const forget = (): void => {
      if (this.#running === started) this.#running = undefined;
    };
    started.then(({ session }) => session.ended).then(forget, forget);
    this.#running = started;
    return started;
  }

  async #start(): Promise<Running> {
    const peer = await this.#options.start(this.#stopping.signal);
    return { peer, session: openInstallSession(peer, this.#options) };
  }

  /** Ends the process. @returns when it is gone. */
  async #end(): Promise<void> {
    const running = this.#running;
    const last = await running?.catch(() => undefined);
    last?.peer.kill();
    await last?.session.ended;
    if (this.#running === running) this.#running = undefined;
  }

  #endIdleLater(): void {
    this.#stopIdle();
    this.#stopIdle = this.#options.clock.after(IDLE_MS, () => {
      void this.#running?.then(
        ({ peer, session }) => {
          if (session.open === 0) peer.kill();
        },
        () => undefined,
      );
    });
  }
}
