import { DDSketch } from '@datadog/sketches-js';

/** Of a quantile: how far it may be from the true value. */
const RELATIVE_ACCURACY = 0.01;

/**
 * A DDSketch of durations: its quantiles are within 1 % of the true ones, whatever the durations and however many, and
 * the merged sketch of two sets is that of their union.
 */
export class DurationSketch {
  readonly #sketch = new DDSketch({ relativeAccuracy: RELATIVE_ACCURACY });

  /** @param us microseconds; less than one counts as one, so that no bin lies below the first. */
  add(us: number): void {
    this.#sketch.accept(Math.max(us, 1));
  }

  /** @param bins of another sketch. */
  merge(bins: readonly number[]): void {
    for (let index = 0; index + 1 < bins.length; index += 2)
      this.#sketch.accept(this.#sketch.mapping.value(bins[index] ?? 0), bins[index + 1]);
  }

  /**
   * The bins that are not empty, in turn the key of one and its count: a tenth of the library's own format, which holds
   * the empty ones too.
   */
  bins(): number[] {
    const { bins, offset } = this.#sketch.store;
    return bins.flatMap((count, index) => (count > 0 ? [index + offset, count] : []));
  }

  /** Microseconds. @param quantile 0 to 1. NaN while the sketch is empty. */
  quantile(quantile: number): number {
    return this.#sketch.getValueAtQuantile(quantile);
  }
}
