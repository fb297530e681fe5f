import process from 'node:process';

/**
 * One request to stop may come as several signals: a terminal's Ctrl-C and a service manager signal a whole group, and npm,
 * which is in it, hands the signal on.
 */
const SAME_REQUEST_MS = 1000;

/** The first SIGTERM or SIGINT stops the program. Who asks again, later than a second after it, does not want to wait: it ends at once, with exit code 1. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first !== undefined) {
      if (performance.now() - first > SAME_REQUEST_MS) process.exit(1);
      return;
    }
    first = performance.now();
    stop(signal);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}
