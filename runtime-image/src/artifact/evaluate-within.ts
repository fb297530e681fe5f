import { createRequire } from 'node:module';
import { Script } from 'node:vm';

/** The name by which the script below reaches what it is to run; gone before a line of the module runs. */
const NAME = '__evaluate';
const RUN = new Script(`${NAME}()`);

/**
 * Evaluates a module with a time limit that also applies while it blocks the event loop, where a timer of ours would
 * never fire. `import` finds it evaluated afterwards, with what it exports or throws. One with an `await` at its top
 * level cannot be evaluated so, and is left to `import` alone.
 * @returns whether it was done in time.
 */
export function evaluateWithin(url: string, timeoutMs: number): boolean {
  const evaluate = (): void => {
    Reflect.deleteProperty(globalThis, NAME);
    try {
      createRequire(url)(url);
    } catch {
      // `import` throws it again, or evaluates what is not evaluated yet.
    }
  };
  Object.defineProperty(globalThis, NAME, { value: evaluate, configurable: true });
  try {
    RUN.runInThisContext({ timeout: timeoutMs });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw error;
  }
}
