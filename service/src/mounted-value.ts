import type { Clock } from '@wherry/core/ports/clock.ts';

/** The kubelet swaps a symlink up to a minute after the Secret: nothing is gained by looking more often. */
const POLL_MS = 5000;

/** What the files of a mounted Secret say, kept current. */
export interface MountedValue<T> {
  /** What was last found whole. */
  current(): T;
  /** Calls back after each change. Returns how to stop. */
  onChange(callback: (value: T) => void): () => void;
  stop(): void;
}

interface MountedValueOptions<T> {
  first: T;
  /** What is there now. @throws Error for a state that is not whole, or that must not follow the active one. */
  read: (current: T) => Promise<T>;
  isSame: (a: T, b: T) => boolean;
  onNews: (value: T) => void;
  /** Called once for each: the last good state stays active. */
  onProblem: (problem: string) => void;
  clock: Clock;
}

export function watchMountedValue<T>({
  first,
  read,
  isSame,
  onNews,
  onProblem,
  clock,
}: MountedValueOptions<T>): MountedValue<T> {
  const callbacks = new Set<(value: T) => void>();
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
      for (const callback of callbacks) callback(next);
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
    onChange(callback) {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}
