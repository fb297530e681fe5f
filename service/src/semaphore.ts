/** Lets only so many in at once; the others wait in the order in which they came. */
export interface Slots {
  /** Resolves when there is room, with how to leave (once). Rejects with the signal's reason when it aborts first. */
  enter(signal: AbortSignal): Promise<() => void>;
}

export function createSlots(count: number): Slots {
  const waiting = new Set<() => void>();
  let free = count;

  function leave(): void {
    const [next] = waiting;
    if (next === undefined) free += 1;
    else next();
  }

  return {
    async enter(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return leave;
      }
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const abort = (): void => {
        waiting.delete(go);
        reject(signal.reason as Error);
      };
      const go = (): void => {
        waiting.delete(go);
        signal.removeEventListener('abort', abort);
        resolve(leave);
      };
      waiting.add(go);
      signal.addEventListener('abort', abort, { once: true });
      return promise;
    },
  };
}
