const REMIND_MS = 60_000;

/** One line for the person who waits. On standard error: the output of `in` and `status` stays clean. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Runs something that takes a while: prints what it is, every minute that it is still running, and how long it took.
 */
export async function progress<T>(what: string, run: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const seconds = (): string => `${((performance.now() - start) / 1000).toFixed(1)} s`;
  say(`${what} …`);
  const timer = setInterval(() => say(`${what}: still running after ${seconds()}`), REMIND_MS);
  try {
    const result = await run();
    say(`${what}: ${seconds()}`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
