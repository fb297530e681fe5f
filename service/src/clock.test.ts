import { systemClock } from './clock.ts';

describe('systemClock', () => {
  it('tells the wall clock, with a fraction, also after it was set', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(20);
    const real = Date.now;
    try {
      Date.now = () => real() + 3_600_000;
      expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(20);
    } finally {
      Date.now = real;
    }
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(20);
  });

  it('calls back once, unless cancelled', async () => {
    const calls: string[] = [];
    systemClock.after(1, () => calls.push('kept'));
    systemClock.after(1, () => calls.push('cancelled'))();
    await systemClock.sleep(20);
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
