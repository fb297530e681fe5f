import process from 'node:process';
import type { Clock } from '@wherry/core/ports/clock.ts';

/**
 * One request to stop may come as several signals: a terminal's Ctrl-C and a service manager signal a whole group, and
 * npm, which is in it, hands the signal on.
 */
const SAME_REQUEST_MS = 1000;

/**
 * The first SIGTERM or SIGINT stops the program. A second signal, more than a second later, means that the sender does
 * not want to wait: the program exits at once, with exit code 1.
 * @param stop called once
 */
export function onStopSignal(clock: Clock, stop: (signal: NodeJS.Signals) => void): void {
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first !== undefined) {
      if (clock.monotonic() - first > SAME_REQUEST_MS) process.exit(1);
      return;
    }
    first = clock.monotonic();
    stop(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
}
