import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { createMetrics } from '@wherry/service/metrics.ts';
import { RouterState } from './router-state.ts';
import { eventually, Harness, routerFunction, snapshot } from '../testing/harness.ts';

describe("a function's metrics", () => {
  const { metrics, registry } = createMetrics();
  let harness: Harness;
  /** Lets the calls to `/run/hello/slow` end. */
  let release: (() => void)[] = [];
  beforeAll(async () => {
    harness = await Harness.start({ metrics });
  });
  beforeEach(async () => {
    release = [];
    const instance = await harness.instance((req, res) => {
      if (req.url?.endsWith('/slow') === true) release.push(() => res.end());
      else res.writeHead(req.url?.endsWith('/strange') === true ? 299 : 200).end();
    });
    hello = (fields = {}) => routerFunction({ route: '/hello/:name', instances: [instance], ...fields });
    await harness.serve([]);
    await harness.serve([hello()]);
  });
  // Also where a test failed before: the calls end before the router does.
  afterEach(() => release.forEach((end) => end()));
  afterAll(() => harness.stop());

  let hello: typeof routerFunction;
  /** Without the numbers; buckets left out. */
  const series = async (): Promise<string[]> =>
    [...(await registry.metrics()).matchAll(/^wherry_(function_\w+(?<!_bucket)\{.*\}) \S+$/gm)]
      .map(([, name = '']) => name)
      .sort();
  const LABELS = 'function_namespace="default",function_name="hello"';
  const info = (revision: string): string =>
    `function_info{function_namespace="default",function_name="hello",function_revision="${revision}"}`;
  const calls = (code: string, route = '/hello/:name', method = 'GET'): string =>
    `function_calls_total{route="${route}",method="${method}",code="${code}",${LABELS}}`;
  const rest = [
    `function_duration_seconds_count{${LABELS}}`,
    `function_duration_seconds_sum{${LABELS}}`,
    `function_inflight{${LABELS}}`,
  ];
  const counted = async (code: string): Promise<boolean> => (await series()).includes(calls(code));

  it('have the function, the route, the method and the code as labels; durations have the function alone, and no label is of a revision', async () => {
    await harness.call('/run/hello/one?x=1');
    await harness.call('/run/hello/two');
    await harness.call('/run/hello/strange');
    expect(await series()).toEqual([calls('200'), calls('_OTHER'), ...rest, info('r1')].sort());
  });

  it('are no more after fifty deploys', async () => {
    await harness.call('/run/hello/one');
    const before = (await series()).length;
    for (let n = 0; n < 50; n += 1) {
      await harness.serve([hello({ revision: `deploy-${n}` })]);
      await harness.call('/run/hello/one');
    }
    const after = await series();
    expect(after).toHaveLength(before);
    expect(after).toContain(info('deploy-49'));
    expect(await registry.metrics()).toContain(`wherry_${calls('200')} 51\n`);
  });

  it.each([
    ['is deleted', [] as Parameters<typeof routerFunction>[0][], []],
    ['gets another route', [{ route: '/other/:name' }], [info('r1')]],
    ['takes other methods', [{ methods: ['GET'] }], [info('r1')]],
    ['gets a route that does not parse', [{ route: '/:' }], []],
  ])('go when it %s; a call that ends after that brings none back', async (_what, definition, left) => {
    const slow = harness.call('/run/hello/slow');
    await eventually(() => release.length === 1);
    await harness.serve(definition.map((fields) => hello(fields)));
    expect(await series()).toEqual(left);
    release[0]?.();
    expect((await slow).status).toBe(200);
    await eventually(() =>
      harness.logs('exec_end').some(({ requestId }) => requestId === harness.logs('exec_start').at(-1)?.requestId),
    );
    expect(await series()).toEqual(left);
  });

  it('are not made for a first call that still waits when its function is deleted', async () => {
    await harness.serve([]);
    await harness.serve([hello({ instances: [] })]);
    const waiting = harness.call('/run/hello/one');
    await eventually(() =>
      harness.up.some((message) => message.type === 'demand' && message.functions['hello']?.waiting === 1),
    );
    await harness.serve([]);
    expect((await waiting).error.code).toBe('function_not_found');
    expect(await series()).toEqual([]);
  });

  it('of a function that is made again under its name begin again, whatever calls of the old one still run', async () => {
    const slow = harness.call('/run/hello/slow');
    await eventually(() => release.length === 1);
    await harness.serve([]);
    await harness.serve([hello()]);
    await harness.call('/run/hello/one');
    release[0]?.();
    await slow;
    expect(await counted('200')).toBe(true);
    await harness.call('/run/hello/one');
    const text = await registry.metrics();
    expect(text).toContain(`wherry_${calls('200')} 2\n`);
    expect(text).toContain(`wherry_function_inflight{${LABELS}} 0\n`);
  });
});

describe('a scrape of a thousand functions', () => {
  it('is below 4 MiB', async () => {
    const { metrics, registry } = createMetrics();
    const open = (): never => {
      throw new Error('there is no instance');
    };
    const state = new RouterState(open, new FakeLogger(), metrics);
    const revision = 'f'.repeat(64);
    const functions = Array.from({ length: 1000 }, (_, n) => {
      const id = `a-function-with-a-longer-name-${n}`;
      return routerFunction({ id, namespace: 'wherry-functions', route: `/${id}/:id`, revision });
    });
    state.apply(snapshot(1, functions));
    for (const { series } of state.functions) {
      for (const method of ['GET', 'POST']) for (const status of [200, 401, 500]) series.counted(method, status, 0.1);
      series.started();
    }
    const text = await registry.metrics();
    expect(text.match(/^wherry_function_calls_total\{/gm)).toHaveLength(6000);
    expect(text.match(/^wherry_function_info\{/gm)).toHaveLength(1000);
    expect(Buffer.byteLength(text)).toBeLessThan(4 * 1024 * 1024);
    await state.close();
  });
});
