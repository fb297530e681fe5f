import type { ExecutionMetrics } from '@wherry/core/ports/telemetry.ts';
import { DurationSketch } from '@wherry/service/duration-sketch.ts';

const MINUTE_MS = 60_000;

interface Open extends Omit<ExecutionMetrics, 'bins'> {
  readonly sketch: DurationSketch;
}

/** One execution that has ended. */
export interface Execution {
  functionName: string;
  /** Milliseconds since 1970 UTC. */
  endedAt: number;
  durationMs: number;
  /** It threw, crashed or timed out. */
  failed: boolean;
}

/** Counts executions by function and minute until they are taken. */
export class ExecutionCounter {
  readonly #open = new Map<string, Open>();

  add({ functionName, endedAt, durationMs, failed }: Execution): void {
    const minute = Math.floor(endedAt / MINUTE_MS) * MINUTE_MS;
    const key = metricsKey({ functionName, minute });
    let open = this.#open.get(key);
    if (open === undefined)
      this.#open.set(
        key,
        (open = { functionName, minute, count: 0, errors: 0, sumUs: 0, maxUs: 0, sketch: new DurationSketch() }),
      );
    const us = Math.max(Math.round(durationMs * 1000), 0);
    open.count += 1;
    if (failed) open.errors += 1;
    open.sumUs += us;
    open.maxUs = Math.max(open.maxUs, us);
    open.sketch.add(us);
  }

  /** What was counted since the last time. */
  take(): ExecutionMetrics[] {
    const taken = [...this.#open.values()].map(({ sketch, ...counted }) => ({ ...counted, bins: sketch.bins() }));
    this.#open.clear();
    return taken;
  }
}

/** Of one function and one minute. */
export function metricsKey({ functionName, minute }: Pick<ExecutionMetrics, 'functionName' | 'minute'>): string {
  return `${minute}/${functionName}`;
}

/** Both together: of the same function and minute. */
export function mergeMetrics(one: ExecutionMetrics, other: ExecutionMetrics): ExecutionMetrics {
  const sketch = new DurationSketch();
  sketch.merge(one.bins);
  sketch.merge(other.bins);
  return {
    ...one,
    count: one.count + other.count,
    errors: one.errors + other.errors,
    sumUs: one.sumUs + other.sumUs,
    maxUs: Math.max(one.maxUs, other.maxUs),
    bins: sketch.bins(),
  };
}
