import { createSemaphore } from '@wherry/service/semaphore.ts';

/** Who runs with others, and who alone. Everyone begins in order of arrival. */
interface Turns {
  /** @returns when nobody runs alone, how to leave. @throws the signal's reason. */
  together(signal: AbortSignal): Promise<() => void>;
  /** @returns when nobody else runs, how to leave; nobody begins before that. @throws the signal's reason. */
  alone(signal: AbortSignal): Promise<() => void>;
}

export function createTurns(): Turns {
  const entrance = createSemaphore(1);
  let running = 0;
  let onLastLeft = (): void => undefined;

  return {
    async together(signal) {
      const pass = await entrance.acquire(signal);
      running += 1;
      pass();
      return () => {
        running -= 1;
        if (running === 0) onLastLeft();
      };
    },
    async alone(signal) {
      const leave = await entrance.acquire(signal);
      if (running > 0) await new Promise<void>((resolve) => (onLastLeft = resolve));
      if (!signal.aborted) return leave;
      leave();
      throw signal.reason;
    },
  };
}
