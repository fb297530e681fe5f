import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { KeyLimit } from '@wherry/core/feed/messages.ts';
import { openKeyLedger, type OwnedKeyLedger } from '@wherry/manager/key-ledger/open-key-ledger.ts';
import { openTelemetryStore } from '@wherry/manager/log-store/open-telemetry-store.ts';
import type { TelemetryStore } from '@wherry/manager/log-store/telemetry-store.ts';
import { GOOD_KEY, Harness, routerFunction, routerKey, type Answer } from '@wherry/router/testing/harness.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';

const KEY = 'key/key-1';
const DAY_MS = 86_400_000;
const WHOLE_TEST_MS = 60_000;

/** Real routers over HTTP, and the real ledger, which the test connects as the operator does; the clock is the test's. */
class Routers {
  readonly clock = new FakeClock();
  readonly harnesses: Harness[] = [];
  calls = 0;
  #store!: TelemetryStore;
  #ledger!: OwnedKeyLedger;
  #relaying: Promise<void> = Promise.resolve();
  #stopped = false;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async start(count: number, limits: KeyLimit[]): Promise<void> {
    await this.openLedger();
    for (let index = 0; index < count; index += 1) await this.add(limits);
    this.#relaying = this.#relay();
    // Each has reported, and knows how many there are.
    await this.pass(6000);
  }

  async add(limits: KeyLimit[]): Promise<void> {
    const harness = await Harness.start({ clock: this.clock });
    this.harnesses.push(harness);
    const instance = await harness.instance((_req, res) => {
      this.calls += 1;
      res.setHeader('RateLimit-Limit', 'of the handler').end('ok');
    });
    const fn = routerFunction({ instances: [instance], keyGroups: ['team'] });
    await harness.serve([fn], [routerKey(GOOD_KEY, { limits }), routerKey('wh_without-any-limit', { id: 'free' })]);
  }

  async openLedger(): Promise<void> {
    const shared = { clock: this.clock, logger: new FakeLogger() };
    const file = path.join(this.#directory, 'telemetry.db');
    this.#store = await openTelemetryStore({ file, maxBytes: 64 * 1024 * 1024, ...shared });
    this.#ledger = await openKeyLedger({ store: this.#store, ...shared });
  }

  async closeLedger(): Promise<void> {
    await this.#ledger.stop();
    await this.#store.close();
  }

  /** Calls one router some times, one call after the other. @returns the answers. */
  async call(router: number, times = 1, key = GOOD_KEY): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (let time = 0; time < times; time += 1)
      answers.push(await this.#harness(router).call('/run/hello', { headers: { 'x-api-key': key } }));
    return answers;
  }

  /** @returns how many were accepted. */
  async accepted(router: number, times: number): Promise<number> {
    return (await this.call(router, times)).filter(({ status }) => status === 200).length;
  }

  /** Lets time go by, and every report have its answer. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 200) {
      await this.clock.advance(Math.min(200, left));
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#relaying;
    const stopped = Promise.all(this.harnesses.map((harness) => harness.stop()));
    await this.clock.advance(60_000);
    await stopped;
    await this.closeLedger();
  }

  #harness(router: number): Harness {
    const harness = this.harnesses[router];
    if (harness === undefined) throw new Error(`there is no router ${router}`);
    return harness;
  }

  /** What the operator does with reports. */
  async #relay(): Promise<void> {
    const done = new Map<Harness, number>();
    while (!this.#stopped) {
      for (const harness of this.harnesses) {
        for (const message of harness.up.slice(done.get(harness) ?? 0))
          if (message.type === 'limits')
            harness.send({ type: 'limits', ...(await this.#ledger.exchange(message.report)) });
        done.set(harness, harness.up.length);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

describe('limits of keys', () => {
  let directory: string;
  let routers: Routers;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-limits-'));
    routers = new Routers(directory);
  });
  afterEach(async () => {
    await routers.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it.each([
    ['two routers', [9, 1]],
    ['three routers', [8, 1, 1]],
    ['three routers, of which one has no calls', [6, 4, 0]],
  ])(
    'hold over %s with uneven load (%j), within 10 %% of the rate',
    async (_title, load) => {
      const requestsPerSecond = 25;
      await routers.start(load.length, [{ holder: KEY, rate: { requestsPerSecond, burst: 10 } }]);
      let accepted = 0;
      const steps = 60;
      const warm = 15;
      for (let step = 0; step < steps; step += 1) {
        for (const [router, times] of load.entries()) {
          const count = await routers.accepted(router, times);
          if (step >= warm) accepted += count;
        }
        await routers.pass(200);
      }
      const expected = requestsPerSecond * 0.2 * (steps - warm);
      expect(accepted / expected).toBeGreaterThan(0.9);
      expect(accepted / expected).toBeLessThan(1.1);
    },
    WHOLE_TEST_MS,
  );

  it('answer 429 beyond a burst, say what is left, and begin again', async () => {
    await routers.start(1, [{ holder: KEY, rate: { requestsPerSecond: 2, burst: 3 } }]);
    const answers = await routers.call(0, 4);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map(({ headers }) => [headers['ratelimit-limit'], headers['ratelimit-remaining']])).toEqual([
      ['3', '2'],
      ['3', '1'],
      ['3', '0'],
      ['3', '0'],
    ]);
    expect(answers[3]?.headers).toMatchObject({ 'retry-after': '1', 'ratelimit-reset': '2' });
    expect(answers[3]?.error.code).toBe('rate_limited');
    expect(routers.calls).toBe(3);
    await routers.pass(1000);
    expect(await routers.accepted(0, 3)).toBe(2);
    const [harness] = routers.harnesses;
    await routers.pass(200);
    expect(harness?.logs('exec_start')).toHaveLength(5);
    expect(harness?.logs('exec_reject').map(({ args }) => args)).toEqual([
      '{"reason":"rate_limited"}',
      '{"reason":"rate_limited"}',
    ]);
  });

  it('leave keys alone that have none, and what their handlers say of limits', async () => {
    await routers.start(1, [{ holder: KEY, rate: { requestsPerSecond: 1, burst: 1 } }]);
    const answers = await routers.call(0, 5, 'wh_without-any-limit');
    expect(answers.map(({ status, headers }) => [status, headers['ratelimit-limit']])).toEqual(
      Array.from({ length: 5 }, () => [200, 'of the handler']),
    );
  });

  it("apply beside those of the key's group, whichever is reached first", async () => {
    await routers.start(1, [
      { holder: KEY, rate: { requestsPerSecond: 10, burst: 10 } },
      { holder: 'group/team', rate: { requestsPerSecond: 2, burst: 2 }, dailyQuota: 3 },
    ]);
    const answers = await routers.call(0, 3);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[0]?.headers).toMatchObject({ 'ratelimit-limit': '2', 'ratelimit-remaining': '1' });
    await routers.pass(1000);
    const [last, beyond] = await routers.call(0, 2);
    expect([last?.status, beyond?.status, beyond?.error.code]).toEqual([200, 429, 'quota_exceeded']);
  });

  it('hold for a day, to the last call, over a restart of the router and of the ledger', async () => {
    const limits = [{ holder: KEY, dailyQuota: 5 }];
    await routers.start(1, limits);
    expect(await routers.accepted(0, 3)).toBe(3);
    // The router that ends returns what it had not used.
    const drained = routers.harnesses[0]?.stop();
    await routers.pass(2000);
    await drained;
    routers.harnesses.length = 0;
    await routers.closeLedger();
    await routers.openLedger();
    await routers.add(limits);
    const answers = await routers.call(0, 3);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]?.error.code).toBe('quota_exceeded');
    const midnight = (Math.floor(routers.clock.now() / DAY_MS) + 1) * DAY_MS;
    const left = String(Math.ceil((midnight - routers.clock.now()) / 1000));
    expect(answers[2]?.headers).toMatchObject({ 'retry-after': left, 'ratelimit-reset': left, 'ratelimit-limit': '5' });
    await routers.clock.advance(midnight - routers.clock.now() + 1000);
    expect(await routers.accepted(0, 1)).toBe(1);
  });

  it('hold for a day over three routers with uneven load, and never beyond', async () => {
    await routers.start(3, [{ holder: KEY, dailyQuota: 60 }]);
    let accepted = 0;
    for (let round = 0; round < 12; round += 1) {
      for (const [router, times] of [6, 2, 1].entries()) accepted += await routers.accepted(router, times);
      await routers.pass(200);
    }
    expect(accepted).toBeGreaterThanOrEqual(54);
    expect(accepted).toBeLessThanOrEqual(60);
  });

  it('give calls that come at once what is left of a quota, also where each grant is smaller than they are many', async () => {
    await routers.start(2, [{ holder: KEY, dailyQuota: 10 }]);
    // The clock stands still: no call waits too long for its grant, however long the exchanges take.
    const answers = await Promise.all(Array.from({ length: 12 }, () => routers.call(0)));
    const statuses = answers.flat().map(({ status }) => status);
    expect(statuses.sort()).toEqual([...Array<number>(10).fill(200), 429, 429]);
  });

  it('go on with its share at a router that is cut off, and with no more than an equal one after a while', async () => {
    await routers.start(2, [{ holder: KEY, rate: { requestsPerSecond: 1, burst: 20 } }]);
    await routers.accepted(0, 1);
    await routers.pass(2000);
    await routers.harnesses[0]?.loseFeed();
    await routers.clock.advance(60_000);
    expect(await routers.accepted(0, 20)).toBe(10);
  });

  it('accept a tenth of a daily quota where nobody can be asked', async () => {
    await routers.start(1, [{ holder: KEY, dailyQuota: 30 }]);
    await routers.harnesses[0]?.loseFeed();
    const answers = await routers.call(0, 5);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    expect(answers[4]?.headers['retry-after']).toBe('5');
  });
});
