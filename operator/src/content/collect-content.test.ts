import { sha256 } from '@wherry/core/trees/tree.ts';
import { TestWorld } from '../testing/test-world.ts';

const HOUR = 3_600_000;

describe('the collection of content', () => {
  let world: TestWorld;
  beforeEach(async () => {
    world = new TestWorld();
    await world.upload('api', { 'main.ts': 'export const v = 1;', 'other.ts': '2' });
  });
  afterEach(() => world.stop());

  async function has(digests: (string | undefined)[]): Promise<boolean[]> {
    return Promise.all(digests.map((digest) => world.content.has(digest ?? '')));
  }

  it('removes what nothing refers to after a grace period, and nothing else', async () => {
    await world.start();
    await world.createFunction('hello');
    await world.run();
    const source = await world.get('CodeSource', 'api');
    const tree = source.status.tree ?? '';
    const { files } = JSON.parse((await world.content.get(tree)).toString()) as { files: { digest: string }[] };
    const kept = [tree, ...files.map(({ digest }) => digest), (await world.fn('hello')).status.activeRevision];
    const { digest: stray } = await world.content.put(Buffer.from('nobody wants this'));
    await world.run(HOUR / 2);
    expect(await has([stray])).toEqual([true]);
    await world.run(HOUR);
    expect(await has([stray])).toEqual([false]);
    expect(await has(kept)).toEqual(kept.map(() => true));
  });

  it('keeps the locks of sources: what was resolved with a registry is not resolved again', async () => {
    await world.start();
    const { source, path, ...rest } = {
      source: 'api',
      path: 'main.ts',
      artifact: Buffer.from('export default () => 1;'),
    };
    const locks = new Map([[source, { asks: sha256('asks'), lock: 'the lock' }]]);
    world.builder.answer(`${source}/${path}`, {
      ok: true,
      ...rest,
      revision: sha256(rest.artifact),
      inputs: [],
      locks,
    });
    await world.createFunction('hello');
    await world.run(2 * HOUR);
    expect((await world.get('CodeSource', 'api')).status.locks).toEqual([
      { asks: sha256('asks'), lock: sha256('the lock') },
    ]);
    expect(await has([sha256('the lock')])).toEqual([true]);
  });

  it('keeps earlier revisions for a rollback, but not the trees they came from', async () => {
    await world.start();
    await world.createFunction('hello');
    await world.run();
    const first = {
      tree: (await world.get('CodeSource', 'api')).status.tree,
      revision: (await world.fn('hello')).status.activeRevision,
    };
    await world.upload('api', { 'main.ts': 'export const v = 2;' });
    await world.run(2 * HOUR);
    expect((await world.fn('hello')).status.activeRevision).not.toBe(first.revision);
    expect(await has([first.tree, first.revision])).toEqual([false, true]);
  });

  it('keeps a revision that has not been started yet', async () => {
    await world.start();
    world.workloads.refuse(new Error('no more processes'));
    await world.createFunction('hello');
    await world.run(2 * HOUR);
    world.workloads.refuse(undefined);
    await world.run(60_000);
    expect(await has([(await world.fn('hello')).status.activeRevision])).toEqual([true]);
  });

  it('removes nothing while it cannot know what is referred to', async () => {
    await world.start();
    const { digest: stray } = await world.content.put(Buffer.from('nobody wants this'));
    const { digest: bad } = await world.content.put(Buffer.from('no manifest'));
    await world.edit('CodeSource', 'api', { manual: { tree: bad } });
    await world.run(2 * HOUR);
    expect(await has([stray])).toEqual([true]);
  });
});
