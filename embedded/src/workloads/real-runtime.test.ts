import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { workloadsContract } from '@wherry/testing/contracts/workloads-contract.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { bundleRuntime } from './bundle-runtime.ts';
import { call, contractHarness, TestBench } from './testing/test-bench.ts';
import { privateMemoryMiB } from './process-table.ts';

/** What a handler in the web-standard form does with the path. */
const HANDLER = `export default { async fetch(request) {
  const { pathname } = new URL(request.url);
  if (pathname === '/loop') for (;;);
  if (pathname === '/exit') process.exit(4);
  if (pathname === '/hog') { const all = []; for (;;) { all.push(Buffer.alloc(8 << 20, 1)); await new Promise((r) => setTimeout(r, 5)); } }
  if (pathname === '/reject') void Promise.reject(new Error('nobody cares'));
  if (pathname === '/env') return Response.json(process.env);
  if (pathname === '/wait') await new Promise((resolve) => setTimeout(resolve, 400));
  return new Response(String(process.pid));
} };`;

let bundles: string;
beforeAll(async () => void (bundles = await mkdtemp(path.join(os.tmpdir(), 'wherry-bundle-'))));
afterAll(() => rm(bundles, { recursive: true, force: true }));

describe('createProcessWorkloads passes the contract with the real runtime', () => {
  workloadsContract(async () => {
    const bench = await TestBench.start({
      runtimeBundle: await bundleRuntime({ outputDirectory: bundles }),
      spares: 1,
    });
    return contractHarness(bench, { good: HANDLER, bad: 'throw new Error("no")' });
  });
});

describe('instances of the real runtime', () => {
  let bench: TestBench;
  beforeEach(async () => {
    // mkdtemp makes a folder that no other user can enter: what root's home is to instances.
    bench = await TestBench.start({ runtimeBundle: await bundleRuntime({ outputDirectory: bundles }) });
  });
  afterEach(() => bench.stop());

  it.each(['/loop', '/exit', '/hog', '/reject'])(
    'S3: %s ends one instance, and the next is there within 5 s',
    async (target) => {
      const desired = bench.desire('bad', bench.artifact(HANDLER));
      const other = bench.desire('good', bench.artifact(`${HANDLER}//`));
      const [before, good] = await Promise.all([bench.run(desired), bench.run(other)]);
      const pid = await call(good.address);
      await Promise.race([call(before.address, target).catch(() => 'cut'), bench.ready(desired.name, before.id)]);
      const after = await bench.ready(desired.name, before.id);
      expect(await call(after.address)).toMatch(/^\d+$/);
      expect(await call(good.address)).toBe(pid);
    },
  );

  it('stays while it answers heartbeats, however long nobody calls', async () => {
    const { address } = await bench.run(bench.desire('quiet', bench.artifact(HANDLER)));
    const pid = await call(address);
    // One that answers none for as long as seven of them take is ended.
    const answered = bench.heartbeats;
    await eventually(() => expect(bench.heartbeats).toBeGreaterThan(answered + 15));
    expect(await call(address)).toBe(pid);
  });

  it('S1: has the documented environment', async () => {
    const revision = bench.artifact(HANDLER);
    const { address } = await bench.run(bench.desire('mine', revision));
    expect(JSON.parse(await call(address, '/env'))).toEqual({
      TMPDIR: expect.stringMatching(/\/tmp$/),
      NODE_ENV: 'production',
      TZ: Intl.DateTimeFormat().resolvedOptions().timeZone,
      WHERRY_FUNCTION: 'mine',
      WHERRY_REVISION: revision,
    });
  });

  it('has little memory of its own', async () => {
    const { address } = await bench.run(bench.desire('small', bench.artifact(HANDLER)));
    expect(privateMemoryMiB(Number(await call(address)))).toBeLessThan(40);
  });
});
