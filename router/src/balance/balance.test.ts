import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { CONTEXT_HEADER, OUTCOME_HEADER, type InvocationContext } from '@wherry/core/feed/invocation.ts';
import { eventually, Harness, routerFunction, snapshot, type Answer, type CallOptions } from '../testing/harness.ts';

describe('instances', () => {
  let harness: Harness;

  beforeEach(async () => {
    harness = await Harness.start();
  });
  afterEach(() => harness.stop());

  const named =
    (name: string): RequestListener =>
    (_req, res) =>
      void res.end(name);
  const gone = (id: string) => ({
    id,
    revision: 'r1',
    address: { path: harness.socketPath(`${id}.sock`) },
    token: 't',
  });

  it('equals take turns', async () => {
    await harness.serve([
      routerFunction({ instances: [await harness.instance(named('a')), await harness.instance(named('b'))] }),
    ]);
    const bodies: string[] = [];
    for (let n = 0; n < 6; n++) bodies.push((await harness.call('/run/hello')).body);
    expect(bodies.filter((body) => body === 'a')).toHaveLength(3);
  });

  it('the one with the fewest calls in flight is next', async () => {
    const release = Promise.withResolvers<void>();
    let atSlow = 0;
    const slow = await harness.instance((_req, res) => {
      atSlow++;
      void release.promise.then(() => res.end('slow'));
    });
    await harness.serve([routerFunction({ instances: [slow, await harness.instance(named('quick'))] })]);
    const held: Promise<Answer>[] = [];
    while (atSlow === 0) {
      const call = harness.call('/run/hello');
      held.push(call);
      await Promise.race([call, eventually(() => atSlow > 0)]);
    }
    for (let n = 0; n < 5; n++) expect((await harness.call('/run/hello')).body).toBe('quick');
    release.resolve();
    await Promise.all(held);
  });

  it('a call whose instance is gone is tried once on another, body and all', async () => {
    const alive = await harness.instance((req, res) => void req.pipe(res));
    await harness.serve([routerFunction({ instances: [gone('x'), alive] })]);
    for (let n = 0; n < 4; n++)
      expect((await harness.call('/run/hello', { method: 'POST', body: 'kept' })).body).toBe('kept');
    await eventually(() => harness.logs('exec_end').length === 4);
    expect(harness.logs('exec_start')).toHaveLength(4);
  });

  it('so is one whose port nobody listens on, as that of a pod which has just gone', async () => {
    const alive = await harness.instance((req, res) => void req.pipe(res));
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    await harness.serve([
      routerFunction({ instances: [{ ...gone('x'), address: { host: '127.0.0.1', port } }, alive] }),
    ]);
    for (let n = 0; n < 4; n++)
      expect((await harness.call('/run/hello', { method: 'POST', body: 'kept' })).body).toBe('kept');
  });

  it('two that are gone are a 502', async () => {
    await harness.serve([routerFunction({ instances: [gone('x'), gone('y'), gone('z')] })]);
    expect((await harness.call('/run/hello')).error.code).toBe('runtime_crashed');
  });

  it('a call of which something was sent is never sent again', async () => {
    let reached = 0;
    const dying = (): Promise<ReturnType<typeof gone>> =>
      harness.instance((req) => {
        reached++;
        req.socket.destroy();
      }) as Promise<ReturnType<typeof gone>>;
    await harness.serve([routerFunction({ instances: [await dying(), await dying()] })]);
    expect((await harness.call('/run/hello')).status).toBe(502);
    expect(reached).toBe(1);
  });

  it('a call waits for an instance, and says so at once', async () => {
    await harness.serve([routerFunction()]);
    const call = harness.call('/run/hello', { method: 'POST', body: 'x' });
    await eventually(() => harness.up.some((message) => message.type === 'demand'), 500);
    expect(harness.up.find((message) => message.type === 'demand')).toEqual({
      type: 'demand',
      functions: { hello: { inFlight: 0, waiting: 1 } },
    });
    const instance = await harness.instance((req, res) => void req.pipe(res));
    await harness.apply({
      type: 'change',
      version: 2,
      resourceVersion: '2',
      functions: [routerFunction({ instances: [instance] })],
    });
    expect((await call).body).toBe('x');
    await eventually(
      () =>
        JSON.stringify(harness.up.findLast((message) => message.type === 'demand')) ===
        '{"type":"demand","functions":{}}',
    );
  });

  it('a call whose only instance is gone waits for the next', async () => {
    await harness.serve([routerFunction({ instances: [gone('x')] })]);
    const call = harness.call('/run/hello');
    await eventually(() => harness.up.some((message) => message.type === 'demand'), 500);
    const instances = [await harness.instance(named('new'))];
    await harness.apply({
      type: 'change',
      version: 2,
      resourceVersion: '2',
      functions: [routerFunction({ instances })],
    });
    expect((await call).body).toBe('new');
  });

  it.each([
    [
      'broken',
      { functions: [routerFunction({ revision: null, failure: { code: 'handler_syntax_error', message: 'why' } })] },
      500,
      'handler_syntax_error',
    ],
    ['gone', { removedFunctions: ['hello'] }, 404, 'function_not_found'],
  ] as const)('a call that waits is answered at once when its function turns out %s', async (...row) => {
    const [, change, status, code] = row;
    await harness.serve([routerFunction({ revision: null })]);
    const call = harness.call('/run/hello');
    await eventually(() => harness.up.some((message) => message.type === 'demand'), 500);
    await harness.apply({ type: 'change', version: 2, resourceVersion: '2', ...(change as object) });
    // One that waited on would be a 503 when its time is over.
    const answer = await call;
    expect([answer.status, answer.error.code]).toEqual([status, code]);
  });

  it('no instance in time is a 503', async () => {
    await harness.serve([routerFunction({ timeoutMs: 100 })]);
    const answer = await harness.call('/run/hello');
    expect([answer.status, answer.error.code, answer.headers['retry-after']]).toEqual([503, 'no_instance', '1']);
    await eventually(() => harness.logs('exec_reject').length === 1);
    expect(harness.logs('exec_reject')[0]?.args).toBe('{"reason":"no_instance"}');
  });

  it.each([
    ['its first revision is being built', null, /first revision .+ is still being built/],
    ['it has a revision', 'r1', /^No instance/],
  ])('that 503 says what the function lacks where %s', async (_what, revision, error) => {
    await harness.serve([routerFunction({ timeoutMs: 100, revision })]);
    const answer = await harness.call('/run/hello');
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(answer.error).toMatchObject({ code: 'no_instance', error: expect.stringMatching(error) });
  });

  it('a function that never had a good revision answers why, after its key', async () => {
    const failure = { code: 'handler_syntax_error' as const, message: 'src/a.ts:1:2: Unexpected "}"' };
    await harness.serve([
      routerFunction({ revision: null, failure }),
      routerFunction({ id: 'guarded', route: '/guarded', keyGroups: ['team'], revision: null, failure }),
    ]);
    const answer = await harness.call('/run/hello');
    expect([answer.status, answer.error]).toMatchObject([500, { code: failure.code, error: failure.message }]);
    expect((await harness.call('/run/guarded')).status).toBe(401);
  });

  it('an instance that leaves finishes its calls; new ones go to its successor', async () => {
    const release = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const old = await harness.instance((_req, res) => {
      res.write('old ');
      arrived.resolve();
      void release.promise.then(() => res.end('whole'));
    });
    await harness.serve([routerFunction({ instances: [old] })]);
    const call = harness.call('/run/hello');
    await arrived.promise;
    const successor = await harness.instance(named('new'));
    await harness.apply({
      type: 'change',
      version: 2,
      resourceVersion: '2',
      functions: [routerFunction({ revision: 'r2', instances: [successor] })],
    });
    expect((await harness.call('/run/hello')).body).toBe('new');
    release.resolve();
    expect((await call).body).toBe('old whole');
  });

  it('no call fails through 20 swaps of the instance under load', async () => {
    let isOver = false;
    const failures: string[] = [];
    let answered = 0;
    await harness.serve([routerFunction({ instances: [await harness.instance(named('0'))] })]);
    const caller = async (): Promise<void> => {
      while (!isOver) {
        const answer = await harness.call('/run/hello', { method: 'POST', body: 'x'.repeat(1000) });
        answered++;
        if (answer.status !== 200) failures.push(answer.body);
      }
    };
    const callers = Array.from({ length: 8 }, caller);
    for (let version = 2; version < 22; version++) {
      const instances = [await harness.instance(named(String(version)))];
      await harness.apply({
        type: 'change',
        version,
        resourceVersion: String(version),
        functions: [routerFunction({ instances })],
      });
      const before = answered;
      await eventually(() => answered > before + 8);
    }
    isOver = true;
    await Promise.all(callers);
    expect(failures).toEqual([]);
    expect(answered).toBeGreaterThan(100);
  });
});

describe('the limit of concurrent calls', () => {
  it('holds over all instances: more get 429, and room comes back', async () => {
    const harness = await Harness.start();
    const release = Promise.withResolvers<void>();
    let arrived = 0;
    const listener: RequestListener = (_req, res) => {
      arrived++;
      void release.promise.then(() => res.end('ok'));
    };
    const instances = [await harness.instance(listener), await harness.instance(listener)];
    await harness.serve([routerFunction({ maxConcurrency: 3, instances })]);
    const calls = [1, 2, 3].map(() => harness.call('/run/hello'));
    await eventually(() => arrived === 3);
    const refused = await harness.call('/run/hello');
    expect([refused.status, refused.error.code, refused.headers['retry-after']]).toEqual([429, 'over_capacity', '1']);
    release.resolve();
    expect((await Promise.all(calls)).map((answer) => answer.status)).toEqual([200, 200, 200]);
    expect((await harness.call('/run/hello')).status).toBe(200);
    await eventually(() => harness.logs('exec_reject').length === 1);
    expect(harness.logs('exec_reject')[0]?.args).toBe('{"reason":"over_capacity"}');
    await harness.stop();
  });

  const slotsOf = (req: IncomingMessage): number | undefined =>
    (JSON.parse(Buffer.from(String(req.headers[CONTEXT_HEADER]), 'base64url').toString()) as InvocationContext).slots;
  const full: RequestListener = (_req, res) =>
    void res.writeHead(429, { [OUTCOME_HEADER]: 'full' }).end('{"inner":true}');

  it('is dealt out among the instances, alike by every router', async () => {
    const harness = await Harness.start();
    const share: RequestListener = (req, res) => void res.end(JSON.stringify(slotsOf(req) ?? null));
    const instances = [
      await harness.instance(share, 'b'),
      await harness.instance(share, 'c'),
      await harness.instance(share, 'a'),
    ];
    const slotsByCall = async (maxConcurrency: number | null, of = instances): Promise<Record<string, string>> => {
      await harness.serve([routerFunction({ maxConcurrency, instances: of })]);
      return {
        first: (await harness.call('/run/hello')).body,
        second: (await harness.call('/run/hello')).body,
        third: (await harness.call('/run/hello')).body,
      };
    };
    expect(Object.values(await slotsByCall(5)).toSorted()).toEqual(['1', '2', '2']);
    expect(Object.values(await slotsByCall(5, instances.toReversed())).toSorted()).toEqual(['1', '2', '2']);
    expect(Object.values(await slotsByCall(1))).toEqual(['1', '1', '1']);
    expect(Object.values(await slotsByCall(null))).toEqual(['null', 'null', 'null']);
    await harness.stop();
  });

  it('is kept to where calls of other routers have taken a slot: another instance is tried, once', async () => {
    const harness = await Harness.start();
    const free = await harness.instance((_req, res) => void res.end('ok'));
    await harness.serve([routerFunction({ maxConcurrency: 4, instances: [await harness.instance(full), free] })]);
    for (let n = 0; n < 4; n++) expect((await harness.call('/run/hello')).body).toBe('ok');
    await eventually(() => harness.logs('exec_end').length === 4);
    expect([harness.logs('exec_start').length, harness.logs('exec_reject').length]).toEqual([4, 0]);
    await harness.stop();
  });

  it.each<[string, CallOptions, number]>([
    ['with no instance left that has one', {}, 2],
    ['with a body, of which something was sent', { method: 'POST', body: 'x'.repeat(100_000) }, 1],
  ])('refuses a call %s with 429, as one that never ran', async (_what, options, tries) => {
    const harness = await Harness.start();
    let attempts = 0;
    const counting: RequestListener = (req, res) => {
      attempts++;
      full(req, res);
    };
    await harness.serve([
      routerFunction({
        maxConcurrency: 9,
        methods: ['GET', 'POST'],
        instances: [
          await harness.instance(counting),
          await harness.instance(counting),
          await harness.instance(counting),
        ],
      }),
    ]);
    const answer = await harness.call('/run/hello', options);
    expect([answer.status, answer.error.code, answer.headers['retry-after'], answer.headers[OUTCOME_HEADER]]).toEqual([
      429,
      'over_capacity',
      '1',
      undefined,
    ]);
    expect(attempts).toBe(tries);
    await eventually(() => harness.logs('exec_reject').length === 1);
    expect(harness.logs('exec_end')).toEqual([]);
    expect(harness.metrics.value('function_inflight', { function_namespace: 'default', function_name: 'hello' })).toBe(
      0,
    );
    await harness.stop();
  });

  it('gives a slot back when a caller leaves, also while it waits', async () => {
    const harness = await Harness.start();
    await harness.serve([routerFunction({ maxConcurrency: 1 })]);
    const socket = harness.connect();
    socket.write('GET /run/hello HTTP/1.1\r\nHost: a\r\n\r\n');
    await eventually(() => harness.up.some((message) => message.type === 'demand'));
    socket.destroy();
    await eventually(
      () =>
        JSON.stringify(harness.up.findLast((message) => message.type === 'demand')) ===
        '{"type":"demand","functions":{}}',
    );
    const instances = [await harness.instance((_req, res) => void res.end('ok'))];
    await harness.apply(snapshot(2, [routerFunction({ maxConcurrency: 1, instances })]));
    expect((await harness.call('/run/hello')).status).toBe(200);
    await harness.stop();
  });
});
