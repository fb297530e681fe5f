import { fc } from '@wherry/testing/properties.ts';
import { Backoff, backoffMs, KeyedBackoff } from './backoff.ts';

const LIMITS = { firstMs: 100, lastMs: 1000 };
/** Takes nothing off. */
const whole = (): number => 0;

describe('backoffMs', () => {
  it('doubles up to the limit and stays there', () => {
    const waits = [1, 2, 3, 4, 5, 6, 1000].map((failures) => backoffMs(LIMITS, failures, 0));
    expect(waits).toEqual([100, 200, 400, 800, 1000, 1000, 1000]);
  });

  it('takes a random part of up to half off, at the limit too', () => {
    expect([1, 3, 100].map((failures) => backoffMs(LIMITS, failures, 1))).toEqual([50, 200, 500]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
        const wait = backoffMs(LIMITS, failures, random);
        expect(wait).toBeGreaterThanOrEqual(50);
        expect(wait).toBeLessThanOrEqual(1000);
      }),
    );
  });
});

describe('Backoff', () => {
  it('begins again after a success, and after what held long enough', () => {
    const backoff = new Backoff({ ...LIMITS, healthyMs: 5000 }, whole);
    expect([backoff.failed(), backoff.failed(), backoff.failed(4999)]).toEqual([100, 200, 400]);
    expect(backoff.failures).toBe(3);
    expect([backoff.failed(5000), backoff.failed()]).toEqual([100, 200]);
    backoff.reset();
    expect(backoff.failures).toBe(0);
    expect(backoff.failed()).toBe(100);
  });

  it('without a time that counts as well, success alone begins again', () => {
    const backoff = new Backoff(LIMITS, whole);
    expect([backoff.failed(), backoff.failed(Infinity)]).toEqual([100, 200]);
  });

  it('spreads those who fail together, where nothing is injected', () => {
    const waits = Array.from({ length: 100 }, () => new Backoff(LIMITS).failed());
    expect(new Set(waits).size).toBeGreaterThan(1);
    for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(50);
  });
});

describe('KeyedBackoff', () => {
  it('counts each key by itself', () => {
    const backoff = new KeyedBackoff(LIMITS, whole);
    expect([backoff.failed('a'), backoff.failed('a'), backoff.failed('b')]).toEqual([100, 200, 100]);
    expect([backoff.failures('a'), backoff.failures('b'), backoff.failures('c')]).toEqual([2, 1, 0]);
    backoff.forget('a');
    expect(backoff.failures('a')).toBe(0);
    expect([backoff.failed('a'), backoff.failed('b')]).toEqual([100, 200]);
  });
});
