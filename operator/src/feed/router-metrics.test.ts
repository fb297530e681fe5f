import { DomainError } from '@wherry/core/errors.ts';
import { TestWorld, type RunningOperator } from '../testing/test-world.ts';

const SENDER = '5f0a0a3e-0000-4000-8000-000000000001';
const metrics = [{ functionName: 'f', minute: 60_000, count: 1, errors: 0, sumUs: 1, maxUs: 1, bins: [0, 1] }];
const batch = { sender: SENDER, sequence: 7, metrics };

describe('metrics of executions on the feed', () => {
  let world: TestWorld;
  let running: RunningOperator;
  beforeEach(async () => {
    world = new TestWorld();
    running = await world.start();
  });
  afterEach(() => world.stop());

  it('are acknowledged once they are stored', async () => {
    running.router.send({ type: 'metrics', ...batch });
    await world.run();
    expect(world.executions.batches).toEqual([batch]);
    expect(running.router.stored).toEqual([7]);
  });

  it('are not acknowledged while they cannot be stored: the router sends them again', async () => {
    world.executions.problem = new DomainError('unavailable', 'The manager is away.');
    running.router.send({ type: 'metrics', ...batch });
    await world.run();
    expect(running.router.stored).toEqual([]);
    world.executions.problem = undefined;
    running.router.send({ type: 'metrics', ...batch });
    await world.run();
    expect(running.router.stored).toEqual([7]);
  });

  it('are acknowledged where they are refused for what is in them: they must not hold up later ones', async () => {
    world.executions.problem = new DomainError('validation_failed', 'The body is not valid.');
    running.router.send({ type: 'metrics', ...batch });
    await world.run();
    expect(running.router.stored).toEqual([7]);
    expect(world.logger.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'metrics of executions are refused and lost' }),
    );
  });

  it('are sent as often as the setting says, which routers of earlier versions are not sent by default', async () => {
    expect(running.router.messages[0]).toMatchObject({ settings: { logLevel: 'info' } });
    const values = { 'metrics.aggregation-interval-seconds': '10' };
    await world.store.create({ kind: 'Settings', metadata: { name: 'wherry' }, spec: { values } });
    await world.run();
    expect(running.router.changes().at(-1)?.settings).toEqual({ logLevel: 'info', metricsIntervalSeconds: 10 });
    await world.store.delete('Settings', 'wherry');
    await world.run();
    expect(running.router.changes().at(-1)?.settings).toEqual({ logLevel: 'info' });
  });
});
