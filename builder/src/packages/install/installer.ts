import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { BuildIdentity } from '../../build-child.ts';
import type { LockEntry } from '../check-lock.ts';
import type { PackageFailureReason, RegistryOptions } from '../package-room.ts';
import { startInstallChild, type InstallChild } from './install-child.ts';
import { makeInstallProgram } from './install-program.ts';
import { installReportSchema, type InstallLimits, type InstallReport, type ResolveOrder, type TarballOrder } from './protocol.ts';

/** Authors who edit come back within this time; else the process's memory is freed. */
const IDLE_MS = 5 * 60_000;
/** What is called off has to be over by then. */
const CANCEL_MS = 5000;

export type Order = Omit<ResolveOrder, 'id'> | Omit<TarballOrder, 'id'>;
export type Answer = { packages: Record<string, LockEntry> } | { bytes: Buffer } | { failure: { reason: PackageFailureReason; message: string; packages: string[] } };

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

interface Pending {
  chunks: Buffer[];
  settle(answer: Answer): void;
}

export function createInstaller({ registry, limits, identity, clock, logger }: InstallerOptions): Installer {
  const pending = new Map<number, Pending>();
  let current: Promise<InstallChild> | undefined;
  let program: Promise<string> | undefined;
  let lastId = 0;
  let stopIdle = (): void => undefined;
  let stopped = false;

  async function start(): Promise<InstallChild> {
    program ??= makeInstallProgram();
    const child = await startInstallChild(await program, { identity, onStderr: (text) => logger.warn({ stderr: text }, 'the install process complains') });
    child.channel.send({ type: 'configure', folder: child.folder, registry, limits });
    void listen(child);
    return child;
  }

  /** All orders of a process that ended have failed; the next order starts another. */
  async function listen(child: InstallChild): Promise<void> {
    for await (const line of child.channel.messages()) {
      const report = installReportSchema.safeParse(line);
      if (!report.success) break;
      take(report.data);
    }
    current = undefined;
    child.kill();
    const orders = [...pending.values()];
    await child.exited;
    if (orders.length > 0) logger.warn({ orders: orders.length }, 'the install process ended in the middle of its work');
    for (const { settle } of orders) settle(failed('InstallFailed', 'The install process ended unexpectedly.'));
  }

  function take(report: InstallReport): void {
    const one = pending.get(report.id);
    if (one === undefined) return;
    if (report.type === 'chunk') one.chunks.push(Buffer.from(report.base64, 'base64'));
    else if (report.type === 'resolved') one.settle({ packages: report.packages });
    else if (report.type === 'fetched') one.settle({ bytes: Buffer.concat(one.chunks) });
    else one.settle({ failure: report });
  }

  async function process(): Promise<InstallChild> {
    current ??= start();
    try {
      return await current;
    } catch (error) {
      current = undefined;
      throw error;
    }
  }

  function endWhenIdle(): void {
    stopIdle();
    if (pending.size > 0) return;
    stopIdle = clock.after(IDLE_MS, () => void current?.then((child) => child.kill()));
  }

  async function ask(order: Order, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const child = await process();
    const id = (lastId += 1);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const done = Promise.withResolvers<Answer>();
    pending.set(id, { chunks: [], settle: done.resolve });
    const callOff = (): void => {
      resolve(failed('InstallTimeout', `The packages did not come within ${limits.timeoutMs / 1000} s.`));
      child.channel.send({ type: 'cancel', id });
      stopKill = clock.after(CANCEL_MS, () => child.kill());
    };
    let stopKill = (): void => undefined;
    const stopTimer = clock.after(limits.timeoutMs, callOff);
    signal.addEventListener('abort', callOff, { once: true });
    void done.promise.then((answer) => {
      pending.delete(id);
      stopTimer();
      stopKill();
      signal.removeEventListener('abort', callOff);
      endWhenIdle();
      resolve(answer);
    });
    stopIdle();
    child.channel.send({ ...order, id });
    const answer = await promise;
    signal.throwIfAborted();
    return answer;
  }

  return {
    async ask(order, signal) {
      if (stopped) throw new Error('the room of packages is stopping');
      return ask(order, signal);
    },
    async stop() {
      stopped = true;
      const child = await current?.catch(() => undefined);
      child?.kill();
      await child?.exited;
      stopIdle();
    },
  };
}

const failed = (reason: PackageFailureReason, message: string): Answer => ({ failure: { reason, message, packages: [] } });
