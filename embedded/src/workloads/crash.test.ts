import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { eventually } from '@wherry/testing/eventually.ts';
import type { ObservedInstance } from '@wherry/core/ports/workloads.ts';
import { call, TestBench } from './testing/test-bench.ts';

const LOOP = 'for (;;);';
const CRASHES = {
  'an endless loop': LOOP,
  'process.exit': 'process.exit(3);',
  'a heap that grows': 'const all = []; for (;;) all.push(new Array(1000).fill(Math.random()));',
  'Buffers outside of the heap':
    'const all = []; for (;;) { all.push(Buffer.alloc(8 << 20, 1)); await new Promise((r) => setTimeout(r, 5)); }',
  'a throw outside of the call': `setTimeout(() => { throw new Error('thrown later'); }); response.end('said before');`,
  'an unhandled rejection': `void Promise.reject(new Error('nobody cares')); response.end('said before');`,
  'too much in its temporary folder': `for (let i = 0; ; i += 1) { process.getBuiltinModule('fs').writeFileSync(process.env.TMPDIR + '/' + i, Buffer.alloc(1 << 20)); await new Promise((r) => setTimeout(r, 1)); }`,
  'process.abort': 'process.abort();',
  'a signal to itself': `process.kill(process.pid, 'SIGKILL');`,
};

/** Two folders of almost the longest path, one moved into the other. */
const DEEP_FOLDERS = `
  const fs = process.getBuiltinModule('fs');
  const deep = (name) => process.env.TMPDIR + '/' + name + ('/' + 'd'.repeat(200)).repeat(19);
  for (const name of ['inner', 'outer']) fs.mkdirSync(deep(name), { recursive: true });
  fs.writeFileSync(deep('inner') + '/file', 'x');
  fs.renameSync(process.env.TMPDIR + '/inner', deep('outer') + '/inner');`;

describe('S3: what a handler does to its own instance', () => {
  let bench: TestBench;
  beforeEach(async () => void (bench = await TestBench.start()));
  afterEach(() => bench.stop());

  it.each(Object.entries(CRASHES))('%s ends it alone, and it is ready again within 5 s', async (_name, body) => {
    const desired = bench.desire(
      'bad',
      bench.listener(`if (request.url === '/ok') response.end('fine'); else { ${body} }`),
    );
    const other = bench.desire('good', bench.listener(`response.end('still here')`));
    const [before, good] = await Promise.all([bench.run(desired), bench.run(other)]);

    const cut = call(before.address).then(
      () => 'answered',
      () => 'cut',
    );
    let after: ObservedInstance | undefined;
    await eventually(async () => {
      expect(await call(good.address)).toBe('still here');
      after = bench.observe(desired.name)?.instances.find(({ id, ready }) => ready && id !== before.id);
      expect(after).toBeDefined();
    }, 5000);
    expect(await call(after!.address!, '/ok')).toBe('fine');
    expect(await cut).toBe(body.includes('said before') ? 'answered' : 'cut');
    expect(bench.observe(other.name)?.instances.map(({ id }) => id)).toEqual([good.id]);
  });

  it('lets a call compute for as long as the limit allows', async () => {
    const body = `for (const end = Date.now() + 500; Date.now() < end;); response.end('done');`;
    const { address } = await bench.run(bench.desire('slow', bench.listener(body)));
    expect(await call(address)).toBe('done');
    expect(bench.metrics.value('instance_deaths_total')).toBe(0);
  });

  it('folders beyond the longest path that the system takes count as too much, and nothing of them stays', async () => {
    const folders = (): Promise<string[]> => readdir(path.join(bench.directory, 'i'));
    const desired = bench.desire('bad', bench.listener(`${DEEP_FOLDERS} response.end('made')`));
    const { id, address } = await bench.run(desired);
    const [before] = await folders();
    await call(address).catch(() => undefined);
    await bench.ready(desired.name, id);
    expect(bench.metrics.value('instance_deaths_total', { cause: 'disk' })).toBe(1);
    await eventually(async () => expect(await folders()).toEqual([expect.not.stringContaining(before ?? '')]));
  });

  it.each([
    ['blocked', LOOP, "The instance's event loop was blocked for 1.5 s."],
    [
      'memory',
      // 136 MiB and the instance itself: above its limit, and no more than that however late it is seen.
      'globalThis.held = Array.from({ length: 17 }, () => Buffer.alloc(8 << 20, 1)); await new Promise(() => held);',
      /^The instance used 1\d\d MiB of memory, and its limit is 128 MiB \(spec\.resources\.memoryMiB\)\.$/,
    ],
    [
      'disk',
      CRASHES['too much in its temporary folder'],
      "The instance's temporary folder contained more than 64 MiB or 10000 files.",
    ],
    ['exit', CRASHES['process.exit'], 'The instance exited with code 3.'],
  ])('logs and counts why: %s', async (cause, body, message) => {
    const desired = bench.desire('bad', bench.listener(body));
    const { id, address } = await bench.run(desired);
    await call(address).catch(() => undefined);
    await bench.ready(desired.name, id);
    expect(bench.metrics.value('instance_deaths_total', { cause })).toBe(1);
    expect(bench.logger.of('warn')).toMatchObject([
      { fields: { workload: desired.name, function: 'bad', cause }, message: expect.stringMatching(message) },
    ]);
  });
});

describe('a workload whose instances do not get ready', () => {
  let bench: TestBench;
  beforeEach(async () => void (bench = await TestBench.start()));
  afterEach(() => bench.stop());

  it('is in a crash loop after three deaths in a row, and shows what was said last', async () => {
    const desired = bench.desire('bad', bench.artifact(`process._rawDebug('my last words'); process.exit(9);`));
    await bench.workloads.ensure(desired);
    await eventually(() => expect(bench.observe(desired.name)?.failure).toBeDefined());
    expect(bench.observe(desired.name)?.failure).toEqual({
      reason: 'CrashLoop',
      message: 'Instances ended 3 times in a row. The instance exited with code 9.\nmy last words',
    });
  });

  it('has a load error at once when its code blocks at the top', async () => {
    const desired = bench.desire('bad', bench.artifact(`${LOOP} export default () => {}`));
    await bench.workloads.ensure(desired);
    await eventually(() => expect(bench.observe(desired.name)?.failure?.reason).toBe('LoadError'));
    expect(bench.observe(desired.name)?.failure?.message).toBe(
      'The instance did not respond for 3 s while it loaded the code.',
    );
  });

  it('does not keep others from starting', async () => {
    for (const name of ['a', 'b', 'c', 'd']) {
      await bench.workloads.ensure(bench.desire(name, bench.artifact(`${LOOP} // ${name}`)));
    }
    const started = machineTime();
    await bench.run(bench.desire('good', bench.listener(`response.end('ok')`)));
    expect(machineTime() - started).toBeLessThan(10_000);
  });

  it('has no failure any more once one is ready', async () => {
    let status = 503;
    const server = createServer((_request, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const text = `if ((await fetch('http://127.0.0.1:${port}')).status !== 200) process.exit(1); export default (q, s) => s.end('ok');`;
    const desired = bench.desire('late', bench.artifact(text));
    await bench.workloads.ensure(desired);
    await eventually(() => expect(bench.observe(desired.name)?.failure?.reason).toBe('CrashLoop'));
    status = 200;
    await bench.ready(desired.name);
    expect(bench.observe(desired.name)).not.toHaveProperty('failure');
    server.close();
  });
});
