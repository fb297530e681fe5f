import { TestWorld, conditionOf } from './testing/test-world.ts';

async function deployed(): Promise<TestWorld> {
  const world = new TestWorld();
  await world.upload('api', { 'main.ts': 'export default () => 0;' });
  await world.createFunction('hello');
  return world;
}

describe('an operator that does not lead', () => {
  it('serves the feed and writes nothing', async () => {
    const world = await deployed();
    const { operator, router } = await world.start();
    await world.run(1000);
    await operator.stopLeading();
    const { resourceVersion } = await world.store.list('Function');
    const requests = world.workloads.requests.length;
    await world.createFunction('later');
    await world.createKey('first', 'team', 'wh_first_key_value');
    await world.edit('Function', 'hello', { timeoutSeconds: 7 });
    await world.run(20_000);
    expect(router.functions.get('hello')).toMatchObject({ timeoutMs: 7000, instances: [{ id: expect.any(String) }] });
    expect(conditionOf(await world.fn('later'), 'Ready')).toBe('none');
    expect(Number((await world.store.list('Function')).resourceVersion)).toBe(Number(resourceVersion) + 3);
    expect(world.workloads.requests).toHaveLength(requests);
    await world.stop();
  });

  it('catches up with everything when it leads again: what came, what went, what was edited', async () => {
    const world = await deployed();
    await world.createFunction('gone');
    const { operator, router } = await world.start();
    await world.run(1000);
    for (let turn = 1; turn <= 3; turn += 1) {
      await operator.stopLeading();
      await world.createFunction(`new-${turn}`);
      if (turn === 1) await world.store.delete('Function', 'gone');
      await world.upload('api', { 'main.ts': `export default () => ${turn};` });
      await world.run(1000);
      await operator.lead();
      await world.run(20_000);
      expect(conditionOf(await world.fn(`new-${turn}`), 'Ready')).toBe('True Ready: ');
      expect(conditionOf(await world.fn('hello'), 'CodeReady')).toMatch(/^True Built/);
    }
    expect(
      world.workloads
        .list()
        .map(({ functionName }) => functionName)
        .sort(),
    ).toEqual(['hello', 'new-1', 'new-2', 'new-3']);
    const { status } = await world.fn('hello');
    expect(router.functions.get('hello')?.revision).toBe(status.activeRevision);
    expect(status.revisions).toHaveLength(4);
    await world.stop();
  });

  it('ends what it does before it leads again, and leads once however often `lead` is called', async () => {
    const world = await deployed();
    const { operator, metrics } = await world.start();
    await world.run(1000);
    const reconcilesOf = async (description: string): Promise<number> => {
      const before = metrics.value('reconcile_total', { controller: 'function' });
      await world.edit('Function', 'hello', { description });
      await world.run(1000);
      return metrics.value('reconcile_total', { controller: 'function' }) - before;
    };
    const usual = await reconcilesOf('first');
    const ended = [operator.stopLeading(), operator.lead(), operator.stopLeading(), operator.lead(), operator.lead()];
    await world.run(1000);
    await Promise.all(ended);
    expect(await reconcilesOf('second')).toBe(usual);
    await world.stop();
  });

  it('begins no term once it is stopped', async () => {
    const world = await deployed();
    const { operator } = await world.start();
    await world.run(1000);
    await world.stop();
    const requests = world.workloads.requests.length;
    await operator.lead();
    await world.createFunction('later');
    await world.run(20_000);
    expect(world.workloads.requests).toHaveLength(requests);
  });
});
