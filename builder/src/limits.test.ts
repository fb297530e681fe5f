import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { eventually } from '@wherry/core/contracts/eventually.ts';
import type { BuildResult } from '@wherry/core/ports/builder.ts';
import { buildBench, buildLeaders, groupMembers, type BuildBench, type Sources } from './testing/build-bench.ts';

const HELLO: Sources = { api: { 'hello.ts': "export default (c) => c.text('hello');\n" } };
const MIB = 1024 * 1024;
const isRoot = process.getuid?.() === 0;
const IDENTITY = { uid: 63_999, gid: 63_999 };

describe('limits of a build (B1)', () => {
  let bench: BuildBench;
  afterEach(() => bench.builder.stop());

  /** Starts a build that waits for its first blob, and says which process does it. */
  async function hanging(signal?: AbortSignal): Promise<{ result: Promise<BuildResult>; leader: number; release: () => void }> {
    const release = bench.holdBlobs();
    const before = buildLeaders();
    const result = bench.build('api/hello.ts', HELLO, signal);
    result.catch(() => undefined);
    let leaders: number[] = [];
    await eventually(() => {
      leaders = buildLeaders().filter((pid) => !before.includes(pid));
      expect(leaders).toHaveLength(1);
      // esbuild's own process runs in the group too.
      expect(groupMembers(leaders[0]!)).toHaveLength(2);
    });
    return { result, leader: leaders[0]!, release };
  }

  it('B1: gives the process nothing: no environment, no open file, no group, no right to the key file', async () => {
    bench = buildBench(isRoot ? { identity: IDENTITY } : {});
    process.env['CANARY_SECRET'] = 'canary';
    const { result, leader, release } = await hanging();
    delete process.env['CANARY_SECRET'];
    for (const pid of groupMembers(leader)) {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter((entry) => entry !== '');
      // To esbuild's process Node hands its own options on, which say what may be read.
      expect(environment.filter((entry) => !entry.startsWith('NODE_OPTIONS='))).toEqual(['GOGC=400', 'GOMEMLIMIT=241591910']);
      const files = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
      expect(files.filter((file) => file.startsWith('/') && file !== '/dev/null')).toEqual([]);
    }
    if (isRoot) expectOtherUser(leader);
    release();
    expect(await result).toMatchObject({ ok: true });
  });

  it('B1: ends a build that takes too long, with all its processes', async () => {
    bench = buildBench({ limits: { timeoutMs: 1500 } });
    const { result, leader } = await hanging();
    expect(await result).toMatchObject({
      ok: false,
      reason: 'BuildTimeout',
      message: expect.stringContaining('1.5 s'),
      inputs: [{ source: 'api', path: 'hello.ts' }],
    });
    expect(groupMembers(leader)).toEqual([]);
  });

  it('B1: ends a process that does not react any more', async () => {
    bench = buildBench({ limits: { timeoutMs: 1500 } });
    const { result, leader, release } = await hanging();
    process.kill(-leader, 'SIGSTOP');
    release();
    expect(await result).toMatchObject({ ok: false, reason: 'BuildTimeout' });
    expect(groupMembers(leader)).toEqual([]);
  });

  it('B1: ends a build that fills the memory', async () => {
    bench = buildBench({ limits: { memoryBytes: 200 * MIB } });
    const numbers = `export default [${'1,'.repeat(3 * MIB)}];\n`;
    const parts = Array.from({ length: 8 }, (_, index) => [`part-${index}.js`, `// ${index}\n${numbers}`] as const);
    const handler = `${parts.map(([name], index) => `import p${index} from './${name}';`).join('\n')}
      export default () => [${parts.map((_, index) => `p${index}`).join()}];`;
    const result = await bench.build('api/big.js', { api: { 'big.js': handler, ...Object.fromEntries(parts) } });
    expect(result).toMatchObject({ ok: false, reason: 'BuildOutOfMemory', message: expect.stringContaining('200 MiB') });
    expect(buildLeaders()).toEqual([]);
  }, 60_000);

  it('B1: refuses an artifact that is too large, and a file', async () => {
    bench = buildBench({ limits: { outputBytes: 100_000 } });
    const data = (size: number): Sources => ({
      api: { 'a.ts': "import a from './a.txt';\nimport b from './b.txt';\nexport default () => a + b;\n", 'a.txt': 'a'.repeat(size), 'b.txt': 'b'.repeat(size) },
    });
    expect(await bench.build('api/a.ts', data(60_000))).toMatchObject({ ok: false, reason: 'BuildTooLarge', message: expect.stringContaining('100000 bytes') });
    expect(await bench.build('api/a.ts', data(100_001))).toMatchObject({
      ok: false,
      reason: 'BuildTooLarge',
      message: expect.stringContaining('api/a.txt'),
      location: { file: 'api/a.ts', line: 1, column: 15 },
    });
    expect(await bench.build('api/a.ts', data(40_000))).toMatchObject({ ok: true });
  });

  it('B1: builds four at once; the time that others wait does not count as theirs', async () => {
    bench = buildBench({ limits: { timeoutMs: 2500 } });
    bench.holdBlobs();
    const results = Array.from({ length: 6 }, () => bench.build('api/hello.ts', HELLO));
    await eventually(() => expect(buildLeaders()).toHaveLength(4));
    const begun = performance.now();
    expect((await Promise.all(results)).map((result) => !result.ok && result.reason)).toEqual(Array(6).fill('BuildTimeout'));
    expect(performance.now() - begun).toBeGreaterThan(2500);
    expect(buildLeaders()).toEqual([]);
  });

  it('kills a build that is no longer wanted, and one that waits leaves the queue', async () => {
    bench = buildBench({ limits: { concurrency: 1 } });
    const abort = new AbortController();
    const { result, leader, release } = await hanging(abort.signal);
    const waiting = new AbortController();
    const second = bench.build('api/hello.ts', HELLO, waiting.signal);
    const third = bench.build('api/hello.ts', HELLO);
    waiting.abort(new Error('not wanted'));
    await expect(second).rejects.toThrow('not wanted');
    abort.abort(new Error('superseded'));
    await expect(result).rejects.toThrow('superseded');
    expect(groupMembers(leader)).toEqual([]);
    release();
    expect(await third).toMatchObject({ ok: true });
  });

  it('rejects when a blob cannot be had: then the code is not at fault', async () => {
    bench = buildBench();
    const request = await bench.request('api/hello.ts', HELLO);
    bench.content.corrupt(request.trees.get('api')!.files[0]!.digest);
    await expect(bench.builder.build(request, new AbortController().signal)).rejects.toMatchObject({ code: 'internal_error' });
    expect(buildLeaders()).toEqual([]);
  });

  it('ends what runs when it is stopped', async () => {
    bench = buildBench();
    const { result, leader } = await hanging();
    await bench.builder.stop();
    await expect(result).rejects.toThrow('stopping');
    expect(groupMembers(leader)).toEqual([]);
  });

  it('ends typed with 20,000 modules', async () => {
    bench = buildBench();
    const count = 20_000;
    const imports = (n: number): string => [1, 2, 3, 4].map((k) => 4 * n + k).filter((child) => child < count).map((child) => `import './m${child}.js';`).join('');
    const module = (n: number): string => `${imports(n)}\nexport const n${n} = globalThis.n = ${n};\nexport default () => 0;\n`;
    const files = Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}.js`, module(n)]));
    const result = await bench.build('api/m0.js', { api: files });
    expect(result.ok || ['BuildTimeout', 'BuildOutOfMemory'].includes(result.reason)).toBe(true);
    expect(buildLeaders()).toEqual([]);
  }, 90_000);
});

function expectOtherUser(leader: number): void {
  for (const pid of groupMembers(leader)) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    expect(status).toMatch(/^Uid:\t63999\t63999\t63999\t63999$/m);
    expect(status).toMatch(/^Groups:\s*$/m);
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-build-'));
  const file = path.join(folder, 'keys.json');
  writeFileSync(file, 'the key', { mode: 0o600 });
  expect(() => execFileSync('/bin/cat', [file], { ...IDENTITY, stdio: 'pipe' })).toThrow('Permission denied');
  rmSync(folder, { recursive: true });
}
