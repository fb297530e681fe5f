import { fc } from '@wherry/testing/properties.ts';
import { DurationSketch } from './duration-sketch.ts';

/** One hour, the longest timeout. */
const MAX_US = 3_600_000_000;
const durations = fc.array(fc.integer({ min: 1, max: MAX_US }), { minLength: 1, maxLength: 300 });

function sketchOf(values: readonly number[]): DurationSketch {
  const sketch = new DurationSketch();
  for (const value of values) sketch.add(value);
  return sketch;
}

/** The value of this rank, counted from below. */
function trueQuantile(values: readonly number[], quantile: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(quantile * (values.length - 1))] ?? Number.NaN;
}

describe('DurationSketch', () => {
  it('gives quantiles within 1 % of the true ones', () => {
    fc.assert(
      fc.property(durations, fc.constantFrom(0, 0.5, 0.95, 0.99, 1), (values, quantile) => {
        const exact = trueQuantile(values, quantile);
        expect(Math.abs(sketchOf(values).quantile(quantile) - exact)).toBeLessThanOrEqual(exact * 0.0101);
      }),
    );
  });

  it('is the same merged from the bins of parts as made from all values', () => {
    fc.assert(
      fc.property(durations, durations, (some, others) => {
        const merged = new DurationSketch();
        merged.merge(sketchOf(some).bins());
        merged.merge(sketchOf(others).bins());
        expect(merged.bins()).toEqual(sketchOf([...some, ...others]).bins());
      }),
    );
  });

  it('keeps the key of each of its bins when they are read and merged', () => {
    // One value in each bin from a microsecond to an hour.
    const keys = sketchOf(Array.from({ length: 1200 }, (_, index) => Math.min(1.02 ** index, MAX_US))).bins();
    const merged = new DurationSketch();
    merged.merge(keys);
    expect(merged.bins()).toEqual(keys);
  });

  it('takes a duration that rounds to nothing', () => {
    expect(sketchOf([0, 0, 0]).bins()).toEqual([0, 3]);
  });
});
