import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Launcher, RuntimeProcess } from './runtime-process.ts';

/** Where runtimes come from: a spare that gets its function answers many times sooner than a new process. */
export interface Spares {
  /** A spare, where there is one of this size; else a new one. Throws where none is possible. */
  obtain(memoryMiB: number): RuntimeProcess;
  /** How many are spare. */
  count(): number;
  /** Ends the spares. Resolves when they are gone. */
  stop(): Promise<void>;
}

/** After one was taken, its work comes first; a spare that dies by itself is not urgent either. */
const REFILL_MS = 300;
const REFILL_AFTER_DEATH_MS = 5000;

/** Keeps `count` runtimes of one size ready. Each costs the memory of an idle runtime (about 12 MiB of its own). */
export function createSpares(
  options: { count: number; memoryMiB: number },
  parts: { launcher: Launcher; clock: Clock; logger: Logger },
): Spares {
  const spares = new Set<RuntimeProcess>();
  let cancelRefill: (() => void) | undefined;
  let stopped = false;

  function refill(): void {
    cancelRefill = undefined;
    try {
      while (spares.size < options.count) keep(parts.launcher.launch(options.memoryMiB));
    } catch (error) {
      parts.logger.warn({ err: error }, 'no spare instance can be started; trying again');
      refillIn(REFILL_AFTER_DEATH_MS);
    }
  }

  function refillIn(ms: number): void {
    if (!stopped) cancelRefill ??= parts.clock.after(ms, refill);
  }

  function keep(spare: RuntimeProcess): void {
    spares.add(spare);
    void spare.exited.then(() => {
      if (!spares.delete(spare)) return;
      spare.channel.close();
      refillIn(REFILL_AFTER_DEATH_MS);
    });
  }

  function take(): RuntimeProcess | undefined {
    const [spare] = spares;
    if (spare === undefined) return undefined;
    spares.delete(spare);
    refillIn(REFILL_MS);
    return spare;
  }

  refill();
  return {
    obtain: (memoryMiB) => (memoryMiB === options.memoryMiB ? take() : undefined) ?? parts.launcher.launch(memoryMiB),
    count: () => spares.size,
    async stop() {
      stopped = true;
      cancelRefill?.();
      for (const spare of spares) spare.kill('SIGKILL');
      await Promise.all([...spares].map((spare) => spare.gone));
    },
  };
}
