import { FakeBuilder } from '@wherry/testing/fakes/fake-builder.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import type { KnownLock } from '@wherry/core/ports/builder.ts';
import type { TreeEntry } from '@wherry/core/trees/tree.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { loadedTree } from '../content/trees.ts';
import type { BuildTarget } from './build-target.ts';
import { BuildScheduler, createBuildMetrics } from './build-scheduler.ts';
import type { SourceLocks } from './source-locks.ts';

describe('the build scheduler', () => {
  let clock: FakeClock;
  let content: FakeContentStore;
  let builder: FakeBuilder;
  let logger: FakeLogger;
  let metrics: FakeMetrics;
  let finished: string[];
  let locks: { kept: KnownLock[]; disagree: number };
  let scheduler: BuildScheduler;
  beforeEach(() => {
    clock = new FakeClock();
    content = new FakeContentStore({ clock });
    builder = new FakeBuilder({ content });
    logger = new FakeLogger();
    metrics = new FakeMetrics();
    finished = [];
    locks = { kept: [], disagree: 0 };
    const sourceLocks: SourceLocks = {
      known: () => new Map([['a', locks.kept]]),
      stop: () => undefined,
      async keep(used) {
        locks.kept = [...used.values()].map(({ asks, lock }) => ({ asks, lock: sha256(lock) }));
        locks.disagree -= 1;
        return locks.disagree < 0;
      },
    };
    scheduler = new BuildScheduler({
      builder,
      content,
      locks: sourceLocks,
      clock,
      logger,
      metrics: createBuildMetrics(metrics),
    });
    scheduler.onFinished((handler) => finished.push(handler));
  });
  afterEach(() => scheduler.stop());

  /** @param sources the text of each file, by source and path. */
  async function order(handler: string, sources: Record<string, Record<string, string>>): Promise<BuildTarget> {
    const trees = new Map();
    for (const [name, files] of Object.entries(sources)) {
      const entries: TreeEntry[] = [];
      for (const [path, text] of Object.entries(files)) {
        entries.push({ path, size: text.length, mtime: 0, digest: (await content.put(Buffer.from(text))).digest });
      }
      trees.set(name, loadedTree({ files: entries }, sha256(JSON.stringify([name, files]))));
    }
    return { handler, activeTrees: { trees, digest: sha256(JSON.stringify(sources)) } };
  }
  const A = { 'main.ts': "import { b } from './b.ts';", 'b.ts': '1', 'unused.ts': '1' };

  it('B4: has stored the artifact, under the digest that is the revision, when it reports it', async () => {
    const wanted = await order('a/main.ts', { a: A });
    expect(scheduler.request(wanted)).toMatchObject({ state: 'building' });
    await clock.advance(0);
    expect(finished).toEqual(['a/main.ts']);
    const built = scheduler.request(wanted);
    expect(built.state).toBe('built');
    const revision = built.state === 'built' ? built.revision : '';
    expect(sha256(await content.get(revision))).toBe(revision);
    expect(scheduler.revisions()).toEqual([revision]);
  });

  it('B4: takes no artifact that its digest does not name', async () => {
    const artifact = Buffer.from('one');
    builder.answer('a/main.ts', { ok: true, artifact, revision: sha256('another'), inputs: [] });
    const wanted = await order('a/main.ts', { a: A });
    scheduler.request(wanted);
    await clock.advance(0);
    expect(scheduler.request(wanted)).toMatchObject({ state: 'building' });
    expect(await content.has(sha256(artifact))).toBe(false);
  });

  it.each([
    ['another source', { a: A, z: { 'x.ts': '1' } }, 1],
    ['a file that it does not read', { a: { ...A, 'unused.ts': '2' } }, 1],
    ['a file that it reads', { a: { ...A, 'b.ts': '2' } }, 2],
    ['which files there are in a source that it reaches', { a: { ...A, 'b.tsx': '1' } }, 2],
    ['a file that steers builds', { a: { ...A, 'tsconfig.json': '{}' } }, 2],
  ])('after a change of %s the builds are as many as needed', async (_what, changed, builds) => {
    scheduler.request(await order('a/main.ts', { a: A }));
    await clock.advance(0);
    const again = await order('a/main.ts', changed);
    scheduler.request(again);
    await clock.advance(0);
    expect(scheduler.request(again).state).toBe('built');
    expect(builder.requests).toHaveLength(builds);
  });

  it('builds again after any change when the last build failed', async () => {
    scheduler.request(await order('a/main.ts', { a: { 'main.ts': "import { b } from '../b/b.ts';" } }));
    await clock.advance(0);
    const fixed = await order('a/main.ts', { a: { 'main.ts': "import { b } from '../b/b.ts';" }, b: { 'b.ts': '1' } });
    expect(scheduler.request(fixed).state).toBe('building');
    await clock.advance(0);
    expect(scheduler.request(fixed).state).toBe('built');
    expect(scheduler.reaches('a/main.ts', 'b')).toBe(true);
    expect(scheduler.reaches('a/main.ts', 'c')).toBe(false);
  });

  it('the newest order wins: what runs for an older one is ended', async () => {
    builder.hang();
    const orders = await Promise.all(['1', '2', '3'].map((b) => order('a/main.ts', { a: { ...A, 'b.ts': b } })));
    for (const one of orders) {
      scheduler.request(one);
      await clock.advance(0);
    }
    builder.release();
    await clock.advance(0);
    expect(finished).toEqual(['a/main.ts']);
    expect(scheduler.request(orders[2]!).state).toBe('built');
    expect(scheduler.revisions()).toHaveLength(1);
  });

  it('a build goes on, and is not repeated, while sources change that it does not depend on', async () => {
    builder.hang();
    const orders = await Promise.all(['1', '2', '3'].map((text) => order('a/main.ts', { a: A, z: { 'x.ts': text } })));
    for (const one of orders) {
      expect(scheduler.request(one).state).toBe('building');
      await clock.advance(0);
    }
    builder.release();
    await clock.advance(0);
    expect(finished).toEqual(['a/main.ts']);
    expect(scheduler.request(orders[2]!).state).toBe('built');
    expect(builder.requests).toHaveLength(1);
  });

  it.each([
    ['another source that it reads', { b: { 'b.ts': '1' } }, { b: { 'b.ts': '2' } }],
    ['another source whose lack fails it', {}, { b: { 'b.ts': '1' } }],
  ])('is repeated when there was a change of %s meanwhile', async (_what, before, after) => {
    builder.hang();
    const a = { 'main.ts': "import { b } from '../b/b.ts';" };
    scheduler.request(await order('a/main.ts', { a, ...before }));
    await clock.advance(0);
    const newest = await order('a/main.ts', { a, ...after });
    scheduler.request(newest);
    builder.release();
    await clock.advance(0);
    expect(finished).toEqual(['a/main.ts']);
    expect(scheduler.request(newest).state).toBe('built');
    expect(builder.requests).toHaveLength(2);
  });

  it('builds an order that comes while an aborted build is still ending', async () => {
    const withText = (text: string): Promise<BuildTarget> =>
      order('a/main.ts', { a: { 'main.ts': "import { b } from '../b/b.ts';" }, b: { 'b.ts': text } });
    const first = await withText('1');
    scheduler.request(first);
    await clock.advance(0);
    const build = builder.build.bind(builder);
    builder.build = async (_request, signal) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => clock.after(20, resolve)));
      builder.build = build;
      throw signal.reason;
    };
    const second = await withText('2');
    scheduler.request(second);
    await clock.advance(1);
    expect(scheduler.request(first).state).toBe('built');
    expect(scheduler.request(second).state).toBe('building');
    await clock.advance(20);
    expect(scheduler.request(second).state).toBe('built');
  });

  it('B1: runs at most four builds at once', async () => {
    builder.hang();
    const files = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`f${i}.ts`, '1']));
    for (const path of Object.keys(files)) scheduler.request(await order(`a/${path}`, { a: files }));
    await clock.advance(0);
    expect(builder.requests).toHaveLength(4);
    builder.release();
    await clock.advance(0);
    expect(finished).toHaveLength(6);
  });

  it('tries a build that could not be tried again, and says nothing of it until then', async () => {
    builder.answer('a/main.ts', new Error('no processes left'));
    const wanted = await order('a/main.ts', { a: A });
    scheduler.request(wanted);
    await clock.advance(0);
    expect(scheduler.request(wanted)).toMatchObject({ state: 'building' });
    expect(finished).toEqual([]);
    builder.answer('a/main.ts', undefined);
    content.failPuts(new Error('disk full'));
    await clock.advance(500);
    expect(scheduler.request(wanted)).toMatchObject({ state: 'building' });
    content.failPuts(undefined);
    await clock.advance(2000);
    expect(scheduler.request(wanted).state).toBe('built');
    expect(logger.of('warn')).toHaveLength(2);
  });

  it('reports that a registry does not answer, and tries again by itself', async () => {
    const wanted = await order('a/main.ts', { a: A });
    builder.answer('a/main.ts', {
      ok: false,
      reason: 'RegistryUnavailable',
      message: 'api/package.json: hono cannot be used',
      inputs: [],
      retry: true,
    });
    scheduler.request(wanted);
    await clock.advance(0);
    for (const _ of [1, 2, 3]) {
      expect(scheduler.request(wanted)).toMatchObject({ state: 'failed', reason: 'RegistryUnavailable' });
      const before = builder.requests.length;
      await clock.advance(30_000);
      expect(builder.requests.length).toBeGreaterThan(before);
    }
    expect(builder.requests.length).toBeLessThan(20);
    builder.answer('a/main.ts', undefined);
    await clock.advance(30_000);
    expect(scheduler.request(wanted).state).toBe('built');
    const builds = builder.requests.length;
    await clock.advance(3_600_000);
    expect(builder.requests).toHaveLength(builds);
  });

  it('does not retry what a change has made needless', async () => {
    builder.answer('a/main.ts', { ok: false, reason: 'RegistryUnavailable', message: 'no', inputs: [], retry: true });
    scheduler.request(await order('a/main.ts', { a: A }));
    await clock.advance(0);
    builder.answer('a/main.ts', undefined);
    const changed = await order('a/main.ts', { a: { ...A, 'b.ts': '2' } });
    expect(scheduler.request(changed)).toMatchObject({ state: 'building' });
    await clock.advance(0);
    expect(scheduler.request(changed).state).toBe('built');
    await clock.advance(3_600_000);
    expect(builder.requests).toHaveLength(2);
  });

  it('builds with the packages that are known, and again where another build has resolved them otherwise', async () => {
    const used = new Map([['a', { asks: sha256('asks'), lock: 'the lock' }]]);
    builder.answer('a/main.ts', () => ({
      ok: true,
      artifact: Buffer.from('one'),
      revision: sha256('one'),
      inputs: [],
      locks: used,
    }));
    locks.disagree = 1;
    const wanted = await order('a/main.ts', { a: A });
    scheduler.request(wanted);
    await clock.advance(0);
    expect(scheduler.request(wanted).state).toBe('built');
    expect(builder.requests.map((request) => request.locks?.get('a'))).toEqual([
      [],
      [{ asks: sha256('asks'), lock: sha256('the lock') }],
    ]);
  });

  it('reports a failure with file, line and column', async () => {
    const wanted = await order('a/main.ts', { a: { ...A, 'b.ts': "\n\nf('a' 'b')" } });
    scheduler.request(wanted);
    await clock.advance(0);
    expect(scheduler.request(wanted)).toEqual({
      state: 'failed',
      reason: 'SyntaxError',
      message: expect.stringMatching(/^a\/b\.ts:3:\d+: /),
    });
    expect(metrics.value('build_total', { result: 'SyntaxError' })).toBe(1);
  });
});
