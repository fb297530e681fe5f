import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Listeners } from './listeners.ts';

/** The kubelet swaps a symlink up to a minute after the Secret: nothing is gained by checking more often. */
const POLL_MS = 5000;

/** What the files of a mounted Secret say, kept current. */
export interface MountedValue<T> {
  /** The last complete value. */
  current(): T;
  /** Calls back after each change. Returns how to stop. */
  onChange(callback: (value: T) => void): () => void;
  stop(): void;
}

interface MountedValueOptions<T> {
  first: T;
  /** Reads the current value. @throws Error for a state that is incomplete, or that must not follow the active one. */
  read: (current: T) => Promise<T>;
  isSame: (a: T, b: T) => boolean;
  onNews: (value: T) => void;
  /** Called once for each problem; the last good state stays active. */
  onProblem: (problem: string) => void;
  clock: Clock;
  logger: Logger;
}

export function watchMountedValue<T>({
  first,
  read,
  isSame,
  onNews,
  onProblem,
  clock,
  logger,
}: MountedValueOptions<T>): MountedValue<T> {
  const listeners = new Listeners<[value: T]>((error) => logger.error({ err: error }, 'a change handler threw'));
  let current = first;
  let stopped = false;
  let reported = '';
  let cancel = (): void => undefined;

  async function look(): Promise<void> {
    try {
      const next = await read(current);
      reported = '';
      if (stopped || isSame(next, current)) return;
      current = next;
      onNews(next);
      listeners.notify(next);
    } catch (error) {
      const problem = (error as Error).message;
      if (problem !== reported) onProblem(problem);
      reported = problem;
    }
  }

  function lookLater(): void {
    if (!stopped) cancel = clock.after(POLL_MS, () => void look().finally(lookLater));
  }

  lookLater();
  return {
    current: () => current,
    onChange: (callback) => listeners.add(callback),
    stop() {
      stopped = true;
      cancel();
    },
  };
}
