import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TestInstance, type TestInstanceOptions } from '@wherry/runtime/testing/start-instance.ts';
import { bundleRuntime } from './bundle-runtime.ts';

let outputDirectory: string;
let bundle: string;
const instances: TestInstance[] = [];

beforeAll(async () => {
  outputDirectory = await mkdtemp(path.join(tmpdir(), 'wherry-bundle-'));
  bundle = await bundleRuntime({ outputDirectory });
});
afterEach(async () => {
  await Promise.all(instances.splice(0).map((instance) => instance.stop()));
});
afterAll(() => rm(outputDirectory, { recursive: true, force: true }));

async function started(artifact: string, options: Partial<TestInstanceOptions> = {}): Promise<TestInstance> {
  const instance = new TestInstance({ ...options, artifact, main: bundle });
  instances.push(instance);
  expect(await instance.start()).toMatchObject({ type: 'loaded' });
  return instance;
}

describe('bundleRuntime', () => {
  it('makes it once, and again only where something changed', async () => {
    const { mtimeMs } = await stat(bundle);
    expect(await bundleRuntime({ outputDirectory })).toBe(bundle);
    expect((await stat(bundle)).mtimeMs).toBe(mtimeMs);
    await writeFile(path.join(outputDirectory, 'runtime.json'), '{"inputs":[],"digest":"old"}');
    await writeFile(path.join(outputDirectory, 'runtime-0123456789abcdef.cjs'), 'an older one');
    expect(await bundleRuntime({ outputDirectory })).toBe(bundle);
    expect((await readdir(outputDirectory)).sort()).toEqual([path.basename(bundle), 'runtime.json'].sort());
  });

  it('serves calls from one file', async () => {
    const instance = await started(`console.log('up'); export default (c) => c.json({ path: c.req.path });`);
    expect(await instance.call({ path: '/a' })).toMatchObject({ status: 200, body: '{"path":"/a"}' });
    await instance.until(() => instance.logs.length > 0);
    expect(instance.logs).toMatchObject([{ message: 'up' }]);
  });

  it("loads none of Node's fetch before something needs it: 7 MiB an instance", async () => {
    const instance = await started(`
      const loaded = () => process.moduleLoadList.some((name) => name.includes('deps/undici'));
      export default async (c) => c.json([loaded(), await Promise.resolve(new Headers({ a: 'b' }).get('a')), loaded()]);`);
    expect((await instance.call()).body).toBe('[false,"b",true]');
  });
});

describe('S1: under the permission model a handler', () => {
  it("reaches no file of the machine's, by whatever way, and may write to its own folder", async () => {
    const secret = path.join(outputDirectory, 'keys.json');
    await writeFile(secret, 'master key');
    const instance = await started(`
      import fs from 'node:fs';
      import { createRequire } from 'node:module';
      const require = createRequire(import.meta.url);
      const file = ${JSON.stringify(secret)};
      const ways = {
        read: () => fs.readFileSync(file), open: () => fs.openSync(file, 'r'), promise: () => fs.promises.readFile(file), list: () => fs.readdirSync(${JSON.stringify(outputDirectory)}), copy: () => fs.copyFileSync(file, '/tmp/x'),
        require: () => require(file), import: () => import(file), write: () => fs.writeFileSync(file, ''), link: () => fs.symlinkSync(file, process.cwd() + '/link'),
        sqlite: () => require('node:sqlite'), sqliteImport: () => import('node:sqlite'), builtin: () => process.getBuiltinModule('node:sqlite').DatabaseSync,
        child: () => require('node:child_process').spawnSync('cat', [file]).output[1].length, worker: () => new (require('node:worker_threads').Worker)('1', { eval: true }),
        binding: () => process.binding('fs'), wasi: () => new (require('node:wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } }), proc: () => fs.readFileSync('/proc/' + process.ppid + '/environ'),
      };
      export default async (c) => {
        const got = [];
        for (const [name, way] of Object.entries(ways)) { try { await way(); got.push(name); } catch {} }
        const own = c.req.query('tmp') + '/own.txt';
        fs.writeFileSync(own, 'mine');
        return c.json({ got, own: fs.readFileSync(own, 'utf8') });
      };`);
    const reply = await instance.call({ path: `/?tmp=${encodeURIComponent(instance.directory)}` });
    expect(JSON.parse(reply.body)).toEqual({ got: [], own: 'mine' });
  });
});
