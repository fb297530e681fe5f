import { createMetrics } from '@wherry/service/metrics.ts';
import { TestWorld } from '../testing/test-world.ts';
import { createCaches } from '../informers/caches.ts';
import { exposeFunctions } from './function-metrics.ts';

describe("a function's metrics", () => {
  let world: TestWorld;
  let text: () => Promise<string[]>;
  let stop: () => Promise<void>;

  beforeEach(async () => {
    world = new TestWorld();
    const { metrics, registry } = createMetrics();
    const caches = createCaches({ store: world.store, clock: world.clock, logger: world.logger });
    exposeFunctions(metrics, caches);
    stop = () => caches.stop();
    text = async () => {
      await world.run();
      return (await registry.metrics()).split('\n').filter((line) => line.startsWith('wherry_function_'));
    };
    const started = caches.start();
    await world.run();
    await started;
    await world.start();
    await world.upload('api', { 'main.ts': 'export default () => new Response()' });
  });
  afterEach(async () => {
    await stop();
    await world.stop();
  });

  const withoutLabels = (line: string): string =>
    line.replace(/,?function_namespace="wherry",function_name="hello"/, '');

  it('have its desired and ready instances, and each of its conditions with each status', async () => {
    await world.createFunction('hello', {
      scaling: { minReplicas: 2, maxReplicas: 2, targetConcurrency: 50, idleSeconds: 300 },
    });
    await world.run(1000);
    const lines = (await text()).map(withoutLabels);
    expect(lines).toEqual(
      expect.arrayContaining([
        'wherry_function_replicas_desired{} 2',
        'wherry_function_replicas_ready{} 2',
        'wherry_function_status_condition{condition="Ready",status="true"} 1',
        'wherry_function_status_condition{condition="Ready",status="false"} 0',
        'wherry_function_status_condition{condition="Ready",status="unknown"} 0',
      ]),
    );
    expect(lines.filter((line) => line.includes('_condition{')).length % 3).toBe(0);
  });

  it('follow a function that is disabled', async () => {
    await world.createFunction('hello');
    await world.run(1000);
    await world.edit('Function', 'hello', { enabled: false });
    await world.run(1000);
    const lines = (await text()).map(withoutLabels);
    expect(lines).toEqual(
      expect.arrayContaining([
        'wherry_function_replicas_desired{} 0',
        'wherry_function_replicas_ready{} 0',
        'wherry_function_status_condition{condition="Ready",status="true"} 0',
        'wherry_function_status_condition{condition="Ready",status="false"} 1',
      ]),
    );
  });

  it('go with the function', async () => {
    await world.createFunction('hello');
    await world.run(1000);
    expect(await text()).not.toEqual([]);
    await world.store.delete('Function', 'hello');
    await world.run(1000);
    expect(await text()).toEqual([]);
  });
});
