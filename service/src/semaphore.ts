/** Admits a limited number at once; the others wait in order of arrival. */
export interface Semaphore {
  /**
   * Resolves when there is room, with how to release it (once). Rejects with the signal's reason when it aborts first.
   */
  acquire(signal: AbortSignal): Promise<() => void>;
}

export function createSemaphore(count: number): Semaphore {
  const waiting = new Set<() => void>();
  let free = count;

  function release(): void {
    const [next] = waiting;
    if (next === undefined) free += 1;
    else next();
  }

  return {
    async acquire(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return release;
      }
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const abort = (): void => {
        waiting.delete(go);
        reject(signal.reason as Error);
      };
      const go = (): void => {
        waiting.delete(go);
        signal.removeEventListener('abort', abort);
        resolve(release);
      };
      waiting.add(go);
      signal.addEventListener('abort', abort, { once: true });
      return promise;
    },
  };
}
