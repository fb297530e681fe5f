import { DAYS_WITH_SKETCH, HOURS_KEPT, MINUTES_KEPT, TRIM_INTERVAL_MS } from './open-metric-store.ts';
import { PERIOD_MS, RESOLUTIONS } from './metric-store.ts';

/** Bytes of a row on the disk, also in its indexes; the sketch is one with calls of all durations up to an hour. */
const ROW_BYTES = { withSketch: 15 * 1024, withoutSketch: 256 };

/**
 * Bytes of the database of metrics that one function takes at most. Rows go by age, so this is what bounds the file.
 * @param days how many days are kept.
 */
export function metricBytesOfFunction(days: number): number {
  const kept = { minutes: MINUTES_KEPT, hours: HOURS_KEPT, days: DAYS_WITH_SKETCH };
  const sketches = RESOLUTIONS.map(
    (resolution) => kept[resolution] + Math.ceil(TRIM_INTERVAL_MS / PERIOD_MS[resolution]),
  );
  const withSketch = sketches.reduce((sum, rows) => sum + rows, 0);
  return withSketch * ROW_BYTES.withSketch + Math.max(days - DAYS_WITH_SKETCH, 0) * ROW_BYTES.withoutSketch;
}
