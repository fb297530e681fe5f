import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import {
  openInstallSession,
  type Answer,
  type InstallSession,
  type Order,
  type InstallPeer,
} from './install-session.ts';

/** Authors who edit come back within this time; else the process's memory is freed. */
const IDLE_MS = 5 * 60_000;

/** Has the work with the registry done by another process, which is started, or connected to, when there is some. */
export interface Installer {
  /** @throws the signal's reason. */
  request(order: Order, signal: AbortSignal): Promise<Answer>;
  stop(): Promise<void>;
}

interface InstallerOptions {
  /** @throws Error when the process is not available. */
  start: (signal: AbortSignal) => Promise<InstallPeer>;
  /** Of one order. */
  timeoutMs: number;
  clock: Clock;
  logger: Logger;
}

interface Running {
  peer: InstallPeer;
  session: InstallSession;
}

export function createInstaller({ start: startPeer, timeoutMs, clock, logger }: InstallerOptions): Installer {
  let running: Promise<Running> | undefined;
  let stopIdle = (): void => undefined;
  const stopping = new AbortController();

  async function start(): Promise<Running> {
    const peer = await startPeer(stopping.signal);
    return { peer, session: openInstallSession(peer, { timeoutMs, clock }) };
  }

  /** The process that runs, or a new one; one that ends, or does not start, is forgotten. */
  function current(): Promise<Running> {
    if (running !== undefined) return running;
    const started = start();
    const forget = (): void => {
      if (running === started) running = undefined;
    };
    started.then(({ session }) => session.ended).then(forget, forget);
    running = started;
    return started;
  }

  return {
    async request(order, signal) {
      signal.throwIfAborted();
      stopIdle();
      const found = await current().catch((err: unknown) => {
        logger.error({ err }, 'the install process cannot be reached');
      });
      if (found === undefined)
        return {
          failure: { reason: 'InstallFailed', message: 'The install process cannot be reached.', packages: [] },
        };
      const { peer, session } = found;
      try {
        signal.throwIfAborted();
        return await session.request(order, signal);
      } finally {
        stopIdle();
        stopIdle = clock.after(IDLE_MS, () => {
          if (session.open === 0) peer.kill();
        });
      }
    },
    async stop() {
      stopping.abort(new Error('the installer is stopping'));
      const last = await running?.catch(() => undefined);
      last?.peer.kill();
      await last?.session.ended;
      stopIdle();
    },
  };
}
