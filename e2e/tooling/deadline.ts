import { machineTime } from './machine-time.ts';

export type Runnable = () => Promise<void> | void;

// Saved before any test can replace them with jest's fake timers.
const { setTimeout, clearTimeout } = globalThis;

/**
 * The same function, whose promise rejects when it is not done in time. Its work continues.
 * @param milliseconds of a machine that has nothing else to do
 */
export function withDeadline(run: Runnable, milliseconds: number): () => Promise<void> {
  return async () => {
    const late = Promise.withResolvers<never>();
    const end = machineTime() + milliseconds;
    const look = (): void => {
      const left = end - machineTime();
      if (left > 0) timer = setTimeout(look, left);
      else
        late.reject(new Error(`not done after ${milliseconds} ms (a test's or hook's own limit is its last argument)`));
    };
    let timer = setTimeout(look, milliseconds);
    try {
      await Promise.race([run(), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  };
}
