import type { LimitsDown, RouterUp } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { KeyLimits } from '../limit/key-limits.ts';
import { KeyUseReporter } from './key-use-reporter.ts';

/** All that a router reports of keys: when they were used, and the calls that count towards their limits. */
export function createKeyReports(clock: Clock) {
  const keyUses = new KeyUseReporter(clock);
  const keyLimits = new KeyLimits(clock);
  return {
    /** For the chain of calls. */
    parts: { keyUses, keyLimits },
    start(): void {
      keyUses.start();
      keyLimits.start();
    },
    /** Where reports go from now on; undefined: there is no feed. */
    connect(send: ((report: RouterUp) => void) | undefined): void {
      keyUses.connect(send);
      keyLimits.connect(send);
    },
    onLimits: (answer: LimitsDown): void => keyLimits.answer(answer),
    /** Reports the rest. */
    stop(): void {
      keyUses.stop();
      keyLimits.stop();
    },
  };
}
