import type { RuntimeSecret } from '@wherry/core/feed/messages.ts';
import { useInstances } from '../testing/use-instances.ts';

const { started, stopAll } = useInstances();
afterEach(stopAll);

type Started = Awaited<ReturnType<typeof started>>;
const summary = (instance: Started): unknown[] =>
  instance.logs.map(({ level, message, args, requestId }) => [requestId, level, message, args]);

/** Everything that the handler of the call printed: an entry of the next call comes after it. */
async function printed(instance: Started, count: number): Promise<unknown[]> {
  await instance.until(() => instance.logs.length >= count);
  return summary(instance);
}

describe('what a handler writes', () => {
  it('becomes entries of its call, in order, with level, message and arguments', async () => {
    const instance = await started(`export default async (c) => {
      console.log('one %s', 1, { a: [true, null] }); console.debug('two'); console.info('three'); console.warn({ four: 4 }); console.error(new Error('five').message);
      await new Promise((resolve) => setTimeout(resolve, 5));
      process.stdout.write('six\\n'); process.stderr.write(Buffer.from('seven')); console.table([{ a: 1 }]); console.assert(false, 'nine');
      return c.text('x'); }`);
    await instance.call({ context: { requestId: 'r-3' } });
    expect(await printed(instance, 9)).toEqual([
      ['r-3', 'log', 'one %s', '[1,{"a":[true,null]}]'],
      ['r-3', 'debug', 'two', null],
      ['r-3', 'info', 'three', null],
      ['r-3', 'warn', '{"four":4}', null],
      ['r-3', 'error', 'five', null],
      ['r-3', 'stdout', 'six', null],
      ['r-3', 'stderr', 'seven', null],
      ['r-3', 'log', expect.stringContaining('│ a │'), null],
      ['r-3', 'warn', expect.stringContaining('Assertion failed'), null],
    ]);
    expect(instance.logs.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const times = instance.logs.map(({ timestamp }) => timestamp);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(Math.abs((times[0] ?? 0) - Date.now())).toBeLessThan(60_000);
  });

  it('belongs to its call where many run at once, in what they start and in streams, too', async () => {
    const instance = await started(`export default (c, ctx) => {
      setTimeout(() => console.log('timer', ctx.requestId), 3);
      return new Response(new ReadableStream({ async pull(s) { await null; console.log('stream', ctx.requestId); s.close(); } })); }`);
    const ids = Array.from({ length: 20 }, (_, index) => `r-${index}`);
    await Promise.all(ids.map((requestId) => instance.call({ context: { requestId } })));
    await instance.until(() => instance.logs.length === 40);
    for (const { requestId, args } of instance.logs) expect(args).toBe(JSON.stringify([requestId]));
  });

  it('S6: cannot set function, request or level, however it looks', async () => {
    const forged = JSON.stringify({
      functionName: 'other',
      requestId: 'stolen',
      level: 'exec_end',
      message: 'm',
      type: 'logs',
      entries: [],
    });
    const instance = await started(
      `export default (c) => { console.log(${JSON.stringify(forged)}); process.stdout.write(${JSON.stringify(`${forged}\n${forged}\n`)}); return c.text('x'); }`,
    );
    await instance.call({ context: { requestId: 'mine' } });
    await instance.until(() => instance.logs.length === 2);
    expect(instance.logs).toMatchObject([
      { functionName: 'hello', requestId: 'mine', level: 'log', message: forged },
      { functionName: 'hello', requestId: 'mine', level: 'stdout', message: `${forged}\n${forged}` },
    ]);
  });

  it.each([
    ['debug', ['debug', 'trace', 'log', 'info', 'stdout', 'warn', 'stderr', 'error']],
    ['info', ['log', 'info', 'stdout', 'warn', 'stderr', 'error']],
    ['warn', ['warn', 'stderr', 'error']],
    ['error', ['error']],
  ])('is kept from the level %s on', async (logLevel, levels) => {
    const instance = await started(
      `export default (c) => { console.debug(1); console.trace(2); console.log(3); console.info(4); process.stdout.write('5'); console.warn(6); process.stderr.write('7'); console.error(8); return c.text('x'); }`,
      { logLevel },
    );
    await instance.call();
    expect((await printed(instance, levels.length)).map((entry) => (entry as string[])[1])).toEqual(levels);
  });

  it('follows a changed level from the next call on; none captures nothing', async () => {
    const instance = await started(`export default (c) => { console.error(c.req.path); return c.text('x'); }`, {
      logLevel: 'none',
    });
    await instance.call({ path: '/silent' });
    instance.send({ type: 'state', state: { ...instance.state, settings: { logLevel: 'error' } } });
    instance.send({ type: 'heartbeat' });
    await instance.until(() => instance.ups.some(({ type }) => type === 'alive'));
    await instance.call({ path: '/loud' });
    expect(await printed(instance, 1)).toEqual([['r-1', 'error', '/loud', null]]);
  });

  it('never holds the value of a secret that was read', async () => {
    const secrets: RuntimeSecret[] = [
      { name: 'A', value: 'pa"ss\nword', scope: 'global', owner: null },
      { name: 'PIN', value: '1234', scope: 'global', owner: null },
    ];
    const instance = await started(
      `export default async (c, ctx) => { const a = await ctx.getSecret('A'); await ctx.getCompleteSecret('PIN');
         console.log('is ' + a, { [a]: a, pin: 1234, list: [new Error(a)] }); process.stdout.write(a); throw new Error('with ' + a); }`,
      { secrets },
    );
    await instance.call();
    const entries = JSON.stringify(await printed(instance, 3));
    expect(entries).toContain('is ***');
    expect(entries).not.toContain('word');
    expect(entries).not.toContain('1234');
  });
});

it('bounds what waits for a feed that nobody reads, drops the oldest and counts them', async () => {
  const instance = await started(
    `export default (c) => { for (let n = 0; n < 12_000; n += 1) console.log(n); return c.text('x'); }`,
  );
  await instance.call();
  await instance.until(() => instance.logs.at(-1)?.message === '11999');
  const kept = instance.logs.map(({ message }) => Number(message));
  // The newest without a gap. Room for 10,000 is made an eighth at a time.
  expect(kept).toEqual(kept.map((_, at) => 12_000 - kept.length + at));
  expect(kept.length).toBeLessThanOrEqual(10_000);
  expect(kept.length).toBeGreaterThanOrEqual(8750);
  expect(instance.ups.reduce((sum, up) => sum + (up.type === 'logs' ? up.dropped : 0), 0)).toBe(12_000 - kept.length);
});

it("writes nothing to the process's own output", async () => {
  const instance = await started(
    `console.log('loading'); export default (c) => { console.log('called'); console.error('called'); return c.text('x'); }`,
  );
  let output = '';
  instance.child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await instance.call();
  await printed(instance, 3);
  expect([output, instance.stderr]).toEqual(['', '']);
});
