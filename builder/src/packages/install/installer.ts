import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { BuildIdentity } from '../../build-child.ts';
import type { RegistryOptions } from '../package-room.ts';
import { converse, type Answer, type Conversation, type Order } from './conversation.ts';
import { startInstallChild, type InstallChild } from './install-child.ts';
import { makeInstallProgram } from './install-program.ts';
import type { InstallLimits } from './protocol.ts';

/** Authors who edit come back within this time; else the process's memory is freed. */
const IDLE_MS = 5 * 60_000;

/** Has the work with the registry done by a process of its own, which is started when there is some. */
export interface Installer {
  /** @throws the signal's reason. */
  ask(order: Order, signal: AbortSignal): Promise<Answer>;
  stop(): Promise<void>;
}

export interface InstallerOptions {
  registry: RegistryOptions;
  limits: InstallLimits & { timeoutMs: number };
  /** Whom the process runs as: only root can give one. */
  identity?: BuildIdentity | undefined;
  clock: Clock;
  logger: Logger;
}

interface Running {
  child: InstallChild;
  conversation: Conversation;
}

export function createInstaller({ registry, limits, identity, clock, logger }: InstallerOptions): Installer {
  let running: Promise<Running> | undefined;
  let stopIdle = (): void => undefined;

  async function start(): Promise<Running> {
    const onStderr = (text: string): void => logger.warn({ stderr: text }, 'the install process complains');
    const child = await startInstallChild(await makeInstallProgram(), { identity, onStderr });
    child.channel.send({ type: 'configure', folder: child.folder, registry, limits });
    return { child, conversation: converse(child, { timeoutMs: limits.timeoutMs, clock }) };
  }

  /** The process that runs, or a new one; one that ends, or does not start, is forgotten. */
  function current(): Promise<Running> {
    if (running !== undefined) return running;
    const started = start();
    const forget = (): void => {
      if (running === started) running = undefined;
    };
    started.then(({ conversation }) => conversation.ended).then(forget, forget);
    running = started;
    return started;
  }

  return {
    async ask(order, signal) {
      signal.throwIfAborted();
      stopIdle();
      const found = await current().catch((err: unknown) => {
        logger.error({ err }, 'the install process cannot be started');
      });
      if (found === undefined) return { failure: { reason: 'InstallFailed', message: 'The install process cannot be started.', packages: [] } };
      const { child, conversation } = found;
      try {
        signal.throwIfAborted();
        return await conversation.ask(order, signal);
      } finally {
        stopIdle();
        stopIdle = clock.after(IDLE_MS, () => {
          if (conversation.open === 0) child.kill();
        });
      }
    },
    async stop() {
      const last = await running?.catch(() => undefined);
      last?.child.kill();
      await last?.conversation.ended;
      stopIdle();
    },
  };
}
