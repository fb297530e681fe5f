import { systemClock } from './clock.ts';

const SLACK_MS = 20;

describe('systemClock', () => {
  it('gives the wall clock, with a fraction, also after it was set', () => {
    /**
     * Between a look before and one after; the monotonic clock, which gives the fraction, is read apart from the other.
     */
    const expectRight = (): void => {
      const before = Date.now();
      const reading = systemClock.now();
      expect(reading).toBeGreaterThanOrEqual(before - SLACK_MS);
      expect(reading).toBeLessThanOrEqual(Date.now() + SLACK_MS);
    };
    expectRight();
    const real = Date.now;
    try {
      Date.now = () => real() + 3_600_000;
      expectRight();
    } finally {
      Date.now = real;
    }
    expectRight();
  });

  it('calls back once, unless cancelled', async () => {
    const calls: string[] = [];
    systemClock.after(1, () => calls.push('kept'));
    systemClock.after(1, () => calls.push('cancelled'))();
    await new Promise<void>((resolve) => systemClock.after(1, resolve));
    expect(calls).toEqual(['kept']);
  });

  it('ends a sleep with the reason of the abort', async () => {
    const controller = new AbortController();
    const slept = systemClock.sleep(60_000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(slept).rejects.toThrow('enough');
    await expect(systemClock.sleep(60_000, controller.signal)).rejects.toThrow('enough');
  });
});
