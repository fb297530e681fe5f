import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { Call } from './call.ts';
import { Deadlines } from './deadlines.ts';

function callOf(clock: FakeClock, timeoutMs: number): Call {
  const context = { requestId: 'r', requestedAt: clock.now(), timeoutMs, params: {}, scheme: 'http' as const };
  return new Call({ context, clock, onEnd: () => undefined, onWaitFailure: () => undefined });
}

describe('Deadlines', () => {
  it("calls back at the call's timeout, counted from its arrival at the router", async () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    const late: string[] = [];
    const slow = callOf(clock, 1000);
    await clock.advance(300);
    deadlines.watch(slow, () => late.push('slow'));
    deadlines.watch(callOf(clock, 100), () => late.push('short'));
    await clock.advance(101);
    expect(late).toEqual(['short']);
    await clock.advance(598);
    expect(late).toEqual(['short']);
    await clock.advance(1);
    expect(late).toEqual(['short', 'slow']);
  });

  it('leaves calls alone that ended, before or after their timer was made', async () => {
    const clock = new FakeClock();
    const deadlines = new Deadlines(clock);
    const late: Call[] = [];
    const calls = [callOf(clock, 50), callOf(clock, 50)];
    for (const call of calls) deadlines.watch(call, () => late.push(call));
    calls[0]?.end();
    await clock.advance(10);
    calls[1]?.end();
    await clock.advance(100);
    expect(late).toEqual([]);
  });
});
