import { readdirSync } from 'node:fs';
import process from 'node:process';
import { workloadsContract } from '@wherry/testing/contracts/workloads-contract.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { call, contractHarness, TestBench } from './testing/test-bench.ts';

/** Answers with its pid, waits where the path says so. */
const PID = `if (request.url === '/wait') await new Promise((resolve) => setTimeout(resolve, 400)); response.end(String(process.pid));`;

describe('createProcessWorkloads passes the contract', () => {
  workloadsContract(async () => {
    const good = `export default async (request, response) => { ${PID} };`;
    return contractHarness(await TestBench.start(), { good, bad: 'export default 7' });
  });
});

describe('createProcessWorkloads', () => {
  let bench: TestBench;
  afterEach(() => bench.stop());

  it('leaves nothing behind when it stops: no process, no folder', async () => {
    bench = await TestBench.start({ spares: 1 });
    const one = await bench.run(
      bench.desire('one', bench.listener(PID), { template: { memoryMiB: 200, cpuMillis: null } }),
    );
    const two = await bench.run(bench.desire('two', bench.listener(PID)));
    const pids = await Promise.all([one, two].map(async ({ address }) => Number(await call(address))));
    await bench.workloads.stop();
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(readdirSync(`${bench.directory}/i`)).toEqual([]);
    expect(readdirSync(`${bench.directory}/pids`)).toEqual([]);
    await expect(bench.workloads.ensure(bench.desire('three', bench.listener(PID)))).rejects.toThrow('stopping');
  });

  it('ends an instance that does not drain in time', async () => {
    bench = await TestBench.start();
    const body = `if (request.url === '/pid') response.end(String(process.pid));`;
    const desired = bench.desire('hangs', bench.listener(body), { drainSeconds: 0 });
    const { address } = await bench.run(desired);
    const pid = Number(await call(address, '/pid'));
    const cut = call(address, '/never').catch((error: NodeJS.ErrnoException) => error.code);
    await call(address, '/pid');
    await bench.workloads.remove(desired.name);
    expect(await cut).toBe('ECONNRESET');
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
  });

  it('gives a spare its work, and keeps another one at hand', async () => {
    bench = await TestBench.start({ spares: 1 });
    await eventually(() => expect(bench.metrics.value('replicas', { state: 'spare' })).toBe(1));
    const [spare] = readdirSync(`${bench.directory}/i`);
    const { id } = await bench.run(bench.desire('quick', bench.listener(PID)));
    expect(id.endsWith(`-${spare ?? ''}`)).toBe(true);
    await eventually(() => expect(readdirSync(`${bench.directory}/i`)).toHaveLength(2));
    const large = bench.desire('large', bench.listener(PID), { template: { memoryMiB: 256, cpuMillis: null } });
    await bench.run(large);
    await eventually(() => expect(readdirSync(`${bench.directory}/i`)).toHaveLength(3));
  });

  it('notifies once of what happens at once, and of nothing that drains', async () => {
    bench = await TestBench.start();
    const desired = bench.desire('one', bench.listener(PID));
    const seen: string[] = [];
    bench.workloads.watch((name) => {
      const instances = bench.observe(name)?.instances;
      seen.push(instances?.map(({ ready }) => ready).join() ?? 'gone');
    });
    await bench.run(desired);
    expect(seen).toEqual(['false', 'true']);
    await bench.workloads.remove(desired.name);
    await bench.workloads.stop();
    expect(seen).toEqual(['false', 'true', 'gone']);
  });

  it('says that the run directory is too long for a socket', async () => {
    bench = await TestBench.start();
    await expect(TestBench.start({ directory: `/tmp/${'x'.repeat(100)}` })).rejects.toThrow(
      'set TMPDIR to a shorter path',
    );
  });
});
