import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { eventually, Harness, routerFunction } from '../testing/harness.ts';

describe("the age of the router's state", () => {
  it('counts from the start, and from each message that confirms or changes the state', async () => {
    const clock = new FakeClock();
    const harness = await Harness.start({ clock });
    const age = (): number | undefined => harness.metrics.value('router_state_age_seconds');
    await clock.advance(5000);
    expect(age()).toBe(5);
    await harness.serve([routerFunction()]);
    expect(age()).toBe(0);
    await clock.advance(3000);
    expect(age()).toBe(3);
    harness.send({ type: 'heartbeat', version: 1, resourceVersion: '1' });
    await eventually(() => age() === 0);
    await clock.advance(2000);
    // Not understood: it confirms nothing.
    harness.send({ type: 'heartbeat' });
    await eventually(() => harness.logger.lines.length > 0);
    expect(age()).toBe(2);
    const stopped = harness.stop();
    await clock.advance(10_000);
    await stopped;
  });
});
