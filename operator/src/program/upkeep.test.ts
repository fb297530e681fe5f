import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { keepUp } from './upkeep.ts';

describe('keepUp', () => {
  it.each<[string, () => Promise<void>]>([
    ['succeeds', () => Promise.resolve()],
    ['fails', () => Promise.reject(new Error('the API server is away'))],
  ])('K2: works again within 10 s after work that %s, until it is stopped', async (_what, outcome) => {
    const clock = new FakeClock();
    let times = 0;
    const work = (): Promise<void> => {
      times += 1;
      return outcome();
    };
    const stop = keepUp({ what: 'keys', work, clock, logger: new FakeLogger() });
    for (const round of [1, 2, 3]) {
      await clock.advance(10_000);
      expect(times).toBeGreaterThanOrEqual(round);
    }
    const before = times;
    await stop();
    await clock.advance(60_000);
    expect(times).toBe(before);
  });
});
