import { fc } from '@wherry/testing/properties.ts';
import { restartDelay } from './restart-delay.ts';

describe('restartDelay', () => {
  it('replaces the first one at once, then waits longer and longer, up to 30 s', () => {
    const delays = Array.from({ length: 12 }, (_, index) => restartDelay(index + 1, false, 0));
    expect(delays).toEqual([0, 250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
  });

  it('S3: never waits so long for what had been ready that it is not back within 5 s', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0, max: 1, noNaN: true }), (deaths, random) => {
        expect(restartDelay(deaths, true, random)).toBeLessThanOrEqual(2500);
      }),
    );
  });

  it('takes up to half off by chance, of the longest wait too', () => {
    expect(restartDelay(4, false, 1)).toBe(500);
    expect(restartDelay(100, true, 1)).toBe(1250);
  });
});
