import type { Clock } from '@wherry/core/ports/clock.ts';

/**
 * The two time budgets of a build, of which one is running at any time: the one of the process, and the one for waiting
 * for packages.
 */
export interface TimeBudgets {
  /** The process waits for packages from now until the returned function is called; waits may overlap. */
  wait(): () => void;
  stop(): void;
}

export function createTimeBudgets(
  clock: Clock,
  limits: { buildMs: number; packagesMs: number },
  end: (spent: 'build' | 'packages') => void,
): TimeBudgets {
  const left = { build: limits.buildMs, packages: limits.packagesMs };
  let waits = 0;
  let running: 'build' | 'packages' = 'build';
  let since = clock.monotonic();
  let stopTimer = clock.after(left.build, () => end('build'));

  function run(which: 'build' | 'packages'): void {
    const now = clock.monotonic();
    left[running] -= now - since;
    since = now;
    running = which;
    stopTimer();
    stopTimer = clock.after(Math.max(0, left[which]), () => end(which));
  }

  return {
    wait() {
      waits += 1;
      if (waits === 1) run('packages');
      return () => {
        waits -= 1;
        if (waits === 0) run('build');
      };
    },
    stop() {
      stopTimer();
      // A wait that ends later must not start the clock again.
      waits = Number.POSITIVE_INFINITY;
    },
  };
}
