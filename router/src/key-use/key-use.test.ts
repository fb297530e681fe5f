import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import type { RouterUp } from '@wherry/core/feed/messages.ts';
import { eventually, GOOD_KEY, Harness, routerFunction, routerKey } from '../testing/harness.ts';
import { KeyUseReporter } from './key-use-reporter.ts';

describe('the reports of the use of keys', () => {
  let clock: FakeClock;
  let sent: RouterUp[];
  let reporter: KeyUseReporter;
  beforeEach(() => {
    clock = new FakeClock();
    sent = [];
    reporter = new KeyUseReporter(clock);
    reporter.start();
  });
  afterEach(() => reporter.stop());

  it('name a key once within a minute, with its last use, however many calls it authenticates', async () => {
    reporter.connect((report) => sent.push(report));
    for (let at = 1; at <= 1000; at += 1) reporter.note('first', at);
    reporter.note('second', 7);
    expect(sent).toEqual([]);
    await clock.advance(30_000);
    expect(sent).toEqual([{ type: 'key-uses', uses: { first: 1000, second: 7 } }]);
    await clock.advance(60_000);
    expect(sent).toHaveLength(1);
  });

  it('wait while there is no feed, and are divided where there are many', async () => {
    for (let key = 0; key < 4500; key += 1) reporter.note(`key-${key}`, key);
    await clock.advance(60_000);
    reporter.connect((report) => sent.push(report));
    await clock.advance(30_000);
    const uses = sent.flatMap((report) => (report.type === 'key-uses' ? [report.uses] : []));
    expect(uses.map((one) => Object.keys(one).length)).toEqual([2000, 2000, 500]);
    expect(Object.assign({}, ...uses)).toMatchObject({ 'key-0': 0, 'key-4499': 4499 });
  });

  it('are of keys that authenticate a call, and the last one is sent before the router ends', async () => {
    const harness = await Harness.start();
    const instances = [await harness.instance((_req, res) => void res.end('ok'))];
    const of = (id: string, value: string, fields = {}) => routerKey(value, { id, ...fields });
    await harness.serve(
      [
        routerFunction({ instances, keyGroups: ['team'] }),
        routerFunction({ id: 'open', route: '/open', instances, keyGroups: null }),
      ],
      [
        of('used', GOOD_KEY),
        of('foreign', 'wh_of-another-group', { groupId: 'others' }),
        of('expired', 'wh_expired-long-ago', { expiresAt: 1 }),
        of('unguarded', 'wh_shown-to-an-open-function'),
      ],
    );
    const statusWith = async (target: string, key: string): Promise<number> =>
      (await harness.call(target, { headers: { 'x-api-key': key } })).status;
    const before = Date.now();
    expect(await statusWith('/run/hello', GOOD_KEY)).toBe(200);
    expect(await statusWith('/run/hello', 'wh_of-another-group')).toBe(401);
    expect(await statusWith('/run/hello', 'wh_expired-long-ago')).toBe(401);
    expect(await statusWith('/run/open', 'wh_shown-to-an-open-function')).toBe(200);
    await harness.stop();
    await eventually(() => harness.up.some(({ type }) => type === 'key-uses'));
    const reports = harness.up.filter((message) => message.type === 'key-uses');
    expect(reports.map(({ uses }) => Object.keys(uses))).toEqual([['used']]);
    expect(reports[0]?.uses.used).toBeGreaterThanOrEqual(before);
  });
});
