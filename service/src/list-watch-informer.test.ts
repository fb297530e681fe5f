import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { type Identified, type ListWatchEvent, ListWatchInformer } from './list-watch-informer.ts';

/** A source whose lists and watches the test writes by hand. */
class HandSource {
  state = { items: [] as Identified[], resourceVersion: '1' };
  lists = 0;
  watches = 0;
  /** What each watch does; by default, nothing until it is aborted. */
  script: (signal: AbortSignal) => AsyncIterable<ListWatchEvent<Identified>> = silence;

  list(): Promise<{ items: Identified[]; resourceVersion: string }> {
    this.lists += 1;
    return Promise.resolve(structuredClone(this.state));
  }

  watch({ signal }: { signal: AbortSignal }): AsyncIterable<ListWatchEvent<Identified>> {
    this.watches += 1;
    return this.script(signal);
  }
}

// eslint-disable-next-line require-yield
async function* silence(signal: AbortSignal): AsyncGenerator<never, void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

// eslint-disable-next-line require-yield
async function* ends(): AsyncGenerator<never, void> {
  await Promise.resolve();
}

const object = (name: string, resourceVersion: string): Identified => ({
  metadata: { name, uid: name, resourceVersion },
});

let source: HandSource;
let clock: FakeClock;
let informer: ListWatchInformer<Identified>;
beforeEach(() => {
  source = new HandSource();
  clock = new FakeClock();
  informer = new ListWatchInformer({ source, name: 'test', clock, logger: new FakeLogger() });
});
afterEach(() => informer.stop());

describe('informer: reach', () => {
  it('resolves at once for a state that the cache reflects', async () => {
    source.state.resourceVersion = '10';
    await informer.start();
    await informer.reach('9');
    await informer.reach('10');
    expect(source.lists).toBe(1);
  });

  it.each<[string, ListWatchEvent<Identified>]>([
    ['a change', { type: 'added', object: object('a', '12') }],
    ['a bookmark', { type: 'bookmark', resourceVersion: '12' }],
  ])('resolves when %s brings the watch there, without a list', async (_what, event) => {
    const bell = Promise.withResolvers<void>();
    source.script = async function* (signal) {
      await bell.promise;
      yield event;
      yield* silence(signal);
    };
    await informer.start();
    const reached = informer.reach('11');
    bell.resolve();
    await reached;
    expect(informer.resourceVersion()).toBe('12');
    expect(source.lists).toBe(1);
  });

  it('lists again when the watch lags, and resolves with that list', async () => {
    await informer.start();
    const reached = informer.reach('20');
    source.state = { items: [object('a', '20')], resourceVersion: '20' };
    await clock.advance(499);
    expect(informer.get('a')).toBeUndefined();
    await clock.advance(1);
    await reached;
    expect(informer.get('a')).toBeDefined();
    expect({ lists: source.lists, watches: source.watches }).toEqual({ lists: 2, watches: 2 });
  });

  it('takes the newest state there is for enough: a state that is lost is not waited for', async () => {
    await informer.start();
    const reached = Promise.all([informer.reach('999'), informer.reach('1000')]);
    await clock.advance(500);
    await reached;
    expect(source.lists).toBe(2);
  });

  it('R8: relist takes the newest state, also where it is an older one (a store that was restored)', async () => {
    source.state = { items: [object('late', '20')], resourceVersion: '20' };
    await informer.start();
    const relisted = informer.relist();
    source.state = { items: [object('early', '5')], resourceVersion: '10' };
    await clock.advance(0);
    await relisted;
    expect([informer.resourceVersion(), informer.list().map(({ metadata }) => metadata.name), source.lists]).toEqual([
      '10',
      ['early'],
      2,
    ]);
  });

  it('ends with the informer', async () => {
    await informer.start();
    const reached = informer.reach('5');
    await informer.stop();
    await reached;
    await informer.reach('6');
  });
});

describe('informer: no hot loop', () => {
  it.each<[string, HandSource['script']]>([
    ['ends at once', ends],
    [
      'breaks at once',
      () => {
        throw new Error('broken');
      },
    ],
    [
      'brings one change and ends',
      async function* () {
        yield { type: 'modified', object: object('a', '2') };
      },
    ],
    [
      'brings a bookmark and breaks',
      async function* () {
        yield { type: 'bookmark', resourceVersion: '2' };
        throw new Error('broken');
      },
    ],
  ])('waits longer and longer for a watch that %s, again and again', async (_what, script) => {
    source.script = script;
    await informer.start();
    await clock.advance(60_000);
    // 0.1, 0.2 … 6.4 s are 7 waits; of 10 s come 5 to 10 more in what is left.
    expect(source.lists).toBeGreaterThan(10);
    expect(source.lists).toBeLessThan(25);
  });

  it('lists within two seconds of a server that comes back, however long it was away', async () => {
    const list = source.list.bind(source);
    const attempts: number[] = [];
    source.list = async () => {
      attempts.push(clock.monotonic());
      throw new Error('away');
    };
    const started = informer.start();
    await clock.advance(10 * 60_000);
    // The waits are random: none of them is longer, so it does not matter in which one the server comes back.
    const waits = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
    expect(Math.max(...waits)).toBeLessThanOrEqual(2000);
    source.list = list;
    const before = source.lists;
    await clock.advance(2000);
    expect(source.lists).toBe(before + 1);
    await started;
  });

  it('starts with a short wait again once a watch has stood for long', async () => {
    source.script = ends;
    await informer.start();
    await clock.advance(60_000);
    const cut = new AbortController();
    source.script = (signal) => silence(AbortSignal.any([signal, cut.signal]));
    await clock.advance(20_001);
    const before = source.lists;
    cut.abort();
    await clock.advance(100);
    expect(source.lists).toBe(before + 1);
  });

  it('stops at once though a list hangs', async () => {
    source.list = () => new Promise(() => undefined);
    const started = informer.start();
    await clock.idle();
    await informer.stop();
    await started;
    expect(clock.pending).toBe(0);
  });
});
