import { eventually, Harness, routerFunction, snapshot } from '../testing/harness.ts';

describe('the feed', () => {
  it('R8: before the first snapshot every call is a 503, and the router is not ready', async () => {
    const harness = await Harness.start();
    const answer = await harness.call('/run/hello');
    expect([answer.status, answer.error.code, answer.headers['retry-after']]).toEqual([503, 'not_ready', '1']);
    expect(harness.router.isReady()).toBe(false);
    await harness.serve([]);
    expect((await harness.call('/run/hello')).error.code).toBe('function_not_found');
    expect(harness.router.isReady()).toBe(true);
    await harness.stop();
  });

  it('R8: what it does not understand changes nothing, and it goes on', async () => {
    const harness = await Harness.start();
    const instances = [await harness.instance((_req, res) => void res.end('ok'))];
    await harness.serve([routerFunction({ instances })]);
    harness.send({ type: 'snapshot', version: 9, functions: 'none' });
    harness.send({ type: 'unheard-of' });
    harness.send({ ...snapshot(2, []), digestKey: 'short' });
    harness.send({ type: 'heartbeat', version: 1, resourceVersion: '1' });
    await harness.apply({
      type: 'change',
      version: 3,
      resourceVersion: '3',
      functions: [routerFunction({ id: 'more', route: '/more', instances })],
    });
    for (const path of ['/run/hello', '/run/more']) expect((await harness.call(path)).body).toBe('ok');
    expect(harness.logger.of('error')).toHaveLength(3);
    await harness.stop();
  });

  it('R8: a change is active when it is confirmed', async () => {
    const harness = await Harness.start();
    const instances = [await harness.instance((_req, res) => void res.end('ok'))];
    await harness.serve([routerFunction({ instances })]);
    const start = machineTime();
    await harness.apply({ type: 'change', version: 2, resourceVersion: '2', removedFunctions: ['hello'] });
    expect((await harness.call('/run/hello')).error.code).toBe('function_not_found');
    expect(machineTime() - start).toBeLessThan(1000);
    await harness.stop();
  });

  it('serves on when its feed is lost, and takes up a new one', async () => {
    const harness = await Harness.start();
    await harness.serve([routerFunction({ instances: [await harness.instance((_req, res) => void res.end('ok'))] })]);
    await harness.loseFeed();
    expect((await harness.call('/run/hello')).body).toBe('ok');
    const successor = harness.attach();
    successor.send(snapshot(2, []));
    await eventually(() => harness.up.some((message) => message.type === 'applied' && message.version === 2));
    expect(harness.logs('exec_end')).toHaveLength(1);
    await harness.stop();
  });
});
