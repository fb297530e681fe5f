import type { Clock } from '@wherry/core/ports/clock.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { LockEntry } from '../check-lock.ts';
import type { PackageFailureReason } from '../package-registry.ts';
import { installReportSchema, type InstallReport, type ResolveOrder, type TarballOrder } from './protocol.ts';

/** What is cancelled must have ended by then. */
const CANCEL_MS = 5000;

export type Order = Omit<ResolveOrder, 'id'> | Omit<TarballOrder, 'id'>;
export type Answer =
  | { packages: Record<string, LockEntry> }
  | { bytes: Buffer }
  | { failure: { reason: PackageFailureReason; message: string; packages: string[] } };

/** Orders to one install process, and its answers. */
export interface InstallSession {
  /**
   * It answers within the time limit, whatever the process does.
   * @returns undefined when the process ended first.
   * @throws the signal's reason.
   */
  request(order: Order, signal: AbortSignal): Promise<Answer | undefined>;
  /** Orders that wait for their answer. */
  readonly open: number;
  /** Resolves when the process is gone; by then every order has its answer. */
  readonly ended: Promise<void>;
}

interface Pending {
  chunks: Buffer[];
  complete: (answer: Answer | undefined) => void;
}

export function openInstallSession(
  peer: InstallPeer,
  { timeoutMs, clock }: { timeoutMs: number; clock: Clock },
): InstallSession {
  const pending = new Map<number, Pending>();
  let lastId = 0;

  async function listen(): Promise<void> {
    for await (const line of peer.channel.messages()) {
      const report = installReportSchema.safeParse(line);
      if (!report.success) break;
      const one = pending.get(report.data.id);
      if (one !== undefined) take(one, report.data);
    }
    peer.kill();
    await peer.exited;
    for (const { complete } of pending.values()) complete(undefined);
  }

  return {
    ended: listen(),
    get open() {
      return pending.size;
    },
    async request(order, signal) {
      const id = (lastId += 1);
      const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
      let stopKill = (): void => undefined;
      const callOff = (): void => {
        peer.channel.send({ type: 'cancel', id });
        stopKill();
        stopKill = clock.after(CANCEL_MS, () => peer.kill());
      };
      const timeOut = (): void => {
        resolve(failure('InstallTimeout', `The packages did not arrive within ${timeoutMs / 1000} s.`));
        callOff();
      };
      const abort = (): void => {
        reject(signal.reason as Error);
        callOff();
      };
      const stopTimer = clock.after(timeoutMs, timeOut);
      const complete = (answer: Answer | undefined): void => {
        pending.delete(id);
        stopTimer();
        stopKill();
        signal.removeEventListener('abort', abort);
        resolve(answer);
      };
      pending.set(id, { chunks: [], complete });
      signal.addEventListener('abort', abort, { once: true });
      peer.channel.send({ ...order, id });
      return promise;
    },
  };
}

function take({ chunks, complete }: Pending, report: InstallReport): void {
  if (report.type === 'chunk') chunks.push(Buffer.from(report.base64, 'base64'));
  else if (report.type === 'resolved') complete({ packages: report.packages });
  else if (report.type === 'fetched') complete({ bytes: Buffer.concat(chunks) });
  else complete({ failure: report });
}

export const failure = (reason: PackageFailureReason, message: string): Answer => ({
  failure: { reason, message, packages: [] },
});

/** Handles requests to the registry: a child process, or a connection to the program that has one. */
export interface InstallPeer {
  readonly channel: FeedChannel;
  /** Resolves when it is gone, with all that it had. */
  readonly exited: Promise<void>;
  kill(): void;
}
