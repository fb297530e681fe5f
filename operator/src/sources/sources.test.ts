import { CREATED_AT } from '@wherry/core/resources/meta.ts';
import { encodeTree } from '@wherry/core/trees/tree.ts';
import { conditionOf, TestWorld } from '../testing/test-world.ts';

describe('a code source', () => {
  let world: TestWorld;
  beforeEach(async () => {
    world = new TestWorld();
    await world.upload('api', { 'a.ts': '12345', 'b.ts': '123' });
    await world.start();
  });
  afterEach(() => world.stop());

  it('has the active tree that it names', async () => {
    const { spec, status } = await world.get('CodeSource', 'api');
    expect(status).toMatchObject({ tree: spec.manual?.tree, files: 2, bytes: 8, observedGeneration: 1 });
    expect(conditionOf({ status }, 'Ready')).toBe('True Stored: 2 files, 8 bytes.');
  });

  it('keeps its tree when it names one that is not there, until that is there', async () => {
    const before = (await world.get('CodeSource', 'api')).status.tree;
    const { bytes, digest } = encodeTree({ files: [] });
    await world.edit('CodeSource', 'api', { manual: { tree: digest } });
    await world.run();
    const broken = await world.get('CodeSource', 'api');
    expect(broken.status.tree).toBe(before);
    expect(conditionOf(broken, 'Ready')).toMatch(/^False TreeNotFound: /);
    await world.content.put(bytes);
    await world.run(10_000);
    expect((await world.get('CodeSource', 'api')).status).toMatchObject({ tree: digest, files: 0, bytes: 0 });
  });

  it('says of a blob that is no manifest that it is none', async () => {
    const { digest } = await world.content.put(Buffer.from('{"files": 1}'));
    await world.edit('CodeSource', 'api', { manual: { tree: digest } });
    await world.run();
    expect(conditionOf(await world.get('CodeSource', 'api'), 'Ready')).toMatch(
      /^False TreeNotFound: The blob .* is not a tree's manifest/,
    );
  });

  it('that is not enabled keeps its tree, and what runs from it runs', async () => {
    await world.createFunction('hello', { handler: 'api/a.ts' });
    await world.run();
    const before = (await world.get('CodeSource', 'api')).status.tree;
    await world.edit('CodeSource', 'api', { enabled: false });
    await world.upload('api', { 'a.ts': 'changed' });
    await world.run();
    const source = await world.get('CodeSource', 'api');
    expect(source.status.tree).toBe(before);
    expect(conditionOf(source, 'Ready')).toMatch(/^False Disabled: /);
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
  });

  describe('that has the name of another', () => {
    const ready = async (name: string): Promise<string> => conditionOf(await world.get('CodeSource', name), 'Ready');
    /** Later than `api`, whatever it says, and before it by name. */
    async function createRival(): Promise<void> {
      // Creation timestamps are whole seconds.
      await world.run(1000);
      const { spec } = await world.get('CodeSource', 'api');
      await world.store.create({
        kind: 'CodeSource',
        metadata: { name: 'aaa', annotations: { [CREATED_AT]: '0' } },
        spec: { ...spec, displayName: 'api' },
      });
      await world.run();
    }

    it('gives no function its files, and says so', async () => {
      await world.createFunction('hello', { handler: 'api/a.ts' });
      await createRival();
      const before = (await world.fn('hello')).status.activeRevision;
      await world.upload('aaa', { 'a.ts': 'of another' });
      await world.run();
      expect((await world.fn('hello')).status.activeRevision).toBe(before);
      expect(await ready('api')).toBe('True Stored: 2 files, 8 bytes.');
      expect(await ready('aaa')).toBe(
        'False DuplicateName: The sources aaa and api have the same name, api: functions are built from the files of api, which is older. Write another spec.displayName, or delete one of the two sources.',
      );
    });

    it('has the name once the older one is gone', async () => {
      await createRival();
      await world.store.delete('CodeSource', 'api');
      await world.run();
      expect(await ready('aaa')).toBe('True Stored: 2 files, 8 bytes.');
    });
  });

  it('without files is not ready, nor is one whose files went; one that is disabled too says so', async () => {
    await world.store.create({
      kind: 'CodeSource',
      metadata: { name: 'empty' },
      spec: { type: 'manual', enabled: true },
    });
    await world.edit('CodeSource', 'api', { manual: {} });
    await world.run();
    for (const name of ['empty', 'api']) {
      const source = await world.get('CodeSource', name);
      expect(source.status).toMatchObject({ files: 0, bytes: 0 });
      expect(source.status.tree).toBeUndefined();
      expect(conditionOf(source, 'Ready')).toBe('False NoFiles: The source has no files: upload them.');
    }
    await world.edit('CodeSource', 'empty', { enabled: false });
    await world.run();
    expect(conditionOf(await world.get('CodeSource', 'empty'), 'Ready')).toMatch(/^False Disabled: /);
    await world.edit('CodeSource', 'empty', { enabled: true });
    await world.upload('empty', { 'a.ts': '1' });
    await world.run();
    expect(conditionOf(await world.get('CodeSource', 'empty'), 'Ready')).toBe('True Stored: 1 file, 1 byte.');
  });

  it('whose tree has no files is not ready', async () => {
    await world.upload('api', {});
    await world.run();
    const source = await world.get('CodeSource', 'api');
    expect(source.status).toMatchObject({ tree: source.spec.manual?.tree, files: 0, bytes: 0 });
    expect(conditionOf(source, 'Ready')).toMatch(/^False NoFiles: /);
  });

  it('that is restored while it is not enabled has its tree made active, and says Disabled from the first', async () => {
    const { spec } = await world.get('CodeSource', 'api');
    await world.store.create({
      kind: 'CodeSource',
      metadata: { name: 'restored' },
      spec: { ...spec, enabled: false },
    });
    await world.run();
    const restored = await world.get('CodeSource', 'restored');
    expect(restored.status).toMatchObject({ tree: spec.manual?.tree, files: 2 });
    expect(conditionOf(restored, 'Ready')).toMatch(/^False Disabled: /);
  });

  it.each([true, false])('without files gives a function of it HandlerNotFound (enabled: %s)', async (enabled) => {
    await world.store.create({ kind: 'CodeSource', metadata: { name: 'empty' }, spec: { type: 'manual', enabled } });
    await world.createFunction('hello', { handler: 'empty/a.ts' });
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toMatch(/^False HandlerNotFound: /);
  });

  it('of type git says that it is not supported', async () => {
    await world.store.create({
      kind: 'CodeSource',
      metadata: { name: 'repo' },
      spec: { type: 'git', enabled: true, git: { url: 'https://example.com/x' } },
    });
    await world.createFunction('hello', { handler: 'repo/a.ts' });
    await world.run();
    expect(conditionOf(await world.get('CodeSource', 'repo'), 'Ready')).toMatch(/^False NotSupported: /);
    expect(conditionOf(await world.fn('hello'), 'Ready')).toMatch(/^False SourceNotReady: /);
  });
});
