import { lateWatches } from '../testing/late-watches.ts';
import { TestRouter } from '../testing/test-router.ts';
import { TestWorld } from '../testing/test-world.ts';

describe('a router that comes from another operator', () => {
  it('R8: gets nothing from an operator that lags behind what it knows, until that has caught up', async () => {
    const world = new TestWorld();
    await world.upload('api', { 'main.ts': 'export default () => 0;' });
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.createKey('revoked', 'team', 'wh_revoked_key_value');
    const late = lateWatches(world.store);
    const { operator, router } = await world.start({ store: late.store });
    await world.run(1000);
    late.hold();
    // The operator that it comes from has sent it the revocation.
    await world.store.delete('ApiKey', 'revoked');
    const { resourceVersion } = await world.store.list('ApiKey');
    const [ahead, behind] = [new TestRouter(), new TestRouter()];
    operator.attachRouter(ahead.channel, { resourceVersion });
    operator.attachRouter(behind.channel, { resourceVersion: '1' });
    await world.run(100);
    expect(ahead.messages).toEqual([]);
    expect([...behind.keys.values()].map(({ id }) => id)).toEqual(['revoked']);
    late.release();
    await world.run(2000);
    const [snapshot] = ahead.messages;
    expect(snapshot).toMatchObject({ type: 'snapshot', keys: [] });
    expect(BigInt(snapshot?.resourceVersion ?? 0)).toBeGreaterThanOrEqual(BigInt(resourceVersion));
    for (const one of [router, behind]) expect(one.keys.size).toBe(0);
    await world.stop();
  });
});
