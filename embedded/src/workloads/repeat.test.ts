import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { repeat } from './repeat.ts';

/** A clock whose one timer a test fires when it likes. */
class StalledClock extends FakeClock implements Clock {
  late = 0;
  override monotonic(): number {
    return super.monotonic() + this.late;
  }
}

describe('repeat', () => {
  it('reports the time that passed, again and again, until it is stopped', async () => {
    const clock = new FakeClock();
    const reported: number[] = [];
    const stop = repeat(clock, 250, (elapsed) => void reported.push(elapsed));
    await clock.advance(250);
    await clock.advance(250);
    stop();
    await clock.advance(1000);
    expect(reported).toEqual([250, 250]);
  });

  it('does not count the time in which this process was stalled', async () => {
    const clock = new StalledClock();
    const reported: number[] = [];
    repeat(clock, 250, (elapsed) => void reported.push(elapsed));
    clock.late = 60_000;
    await clock.advance(250);
    expect(reported).toEqual([500]);
  });
});
