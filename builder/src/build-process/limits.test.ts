import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  type Dirent,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { eventually } from '@wherry/testing/eventually.ts';
import type { BuildResult } from '@wherry/core/ports/builder.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createPackageRegistry } from '../packages/create-package-registry.ts';
import { startTestRegistry, type TestRegistry } from '../packages/testing/test-registry.ts';
import {
  buildBench,
  buildLeaders,
  buildProcesses,
  groupMembers,
  type BuildBench,
  type Sources,
} from '../testing/build-bench.ts';

const HELLO: Sources = { api: { 'hello.ts': "export default (c) => c.text('hello');\n" } };
const MIB = 1024 * 1024;
const MINUTE = 60_000;
const isRoot = process.getuid?.() === 0;
const IDENTITY = { uid: 63_999, gid: 63_999 };

describe('limits of a build (B1)', () => {
  let bench: BuildBench;
  afterEach(() => bench.builder.stop());

  /** Starts a build that waits for its first blob, so that its time runs, and says which processes do it. */
  async function hanging(
    signal?: AbortSignal,
  ): Promise<{ result: Promise<BuildResult>; members: number[]; release: () => void }> {
    const release = bench.holdBlobs();
    const before = buildProcesses();
    const result = bench.build('api/hello.ts', HELLO, signal);
    result.catch(() => undefined);
    let members: number[] = [];
    await eventually(() => {
      members = buildProcesses().filter((pid) => !before.includes(pid));
      expect(members).toHaveLength(2);
      expect(bench.requestCount()).toBe(1);
    });
    // They start no other.
    expect(groupMembers(...members)).toHaveLength(2);
    return { result, members, release };
  }

  it('B1: gives the process nothing: no environment, no open file, no group, no right to the key file', async () => {
    bench = buildBench(isRoot ? { identity: IDENTITY } : {});
    process.env['CANARY_SECRET'] = 'canary';
    const { result, members, release } = await hanging();
    delete process.env['CANARY_SECRET'];
    const environments = members.map((pid) =>
      readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .filter((entry) => entry !== ''),
    );
    // Node's process, and esbuild's.
    expect(environments).toEqual([[], ['GOGC=400', 'GOMEMLIMIT=241591910']]);
    for (const pid of members) {
      const files = openFiles(pid);
      expect(files.filter((file) => file.startsWith('/') && file !== '/dev/null')).toEqual([]);
    }
    if (isRoot) expectOtherUser(members);
    release();
    expect(await result).toMatchObject({ ok: true });
  });

  it('B1: ends a build that takes too long, with all its processes', async () => {
    const fake = new FakeClock();
    bench = buildBench({ clock: fake, limits: { timeoutMs: 1500 } });
    const { result, members } = await hanging();
    await fake.advance(1500);
    expect(await result).toMatchObject({
      ok: false,
      reason: 'BuildTimeout',
      message: expect.stringContaining('1.5 s'),
      inputs: [{ source: 'api', path: 'hello.ts' }],
    });
    expect(groupMembers(...members)).toEqual([]);
  });

  it('B1: ends a process that does not react any more', async () => {
    const fake = new FakeClock();
    bench = buildBench({ clock: fake, limits: { timeoutMs: 1500 } });
    const { result, members, release } = await hanging();
    for (const pid of members) process.kill(-pid, 'SIGSTOP');
    release();
    await fake.advance(1500);
    expect(await result).toMatchObject({ ok: false, reason: 'BuildTimeout' });
    expect(groupMembers(...members)).toEqual([]);
  });

  it('B1: ends a build that fills the memory', async () => {
    bench = buildBench({ limits: { memoryBytes: 200 * MIB, timeoutMs: 10 * MINUTE } });
    const numbers = `export default [${'1,'.repeat(3 * MIB)}];\n`;
    const parts = Array.from({ length: 8 }, (_, index) => [`part-${index}.js`, `// ${index}\n${numbers}`] as const);
    const handler = `${parts.map(([name], index) => `import p${index} from './${name}';`).join('\n')}
      export default () => [${parts.map((_, index) => `p${index}`).join()}];`;
    const result = await bench.build('api/big.js', { api: { 'big.js': handler, ...Object.fromEntries(parts) } });
    expect(result).toMatchObject({
      ok: false,
      reason: 'BuildOutOfMemory',
      message: expect.stringContaining('200 MiB'),
    });
    expect(buildLeaders()).toEqual([]);
  }, 60_000);

  it('B1: refuses an artifact that is too large, and a file', async () => {
    bench = buildBench({ limits: { outputBytes: 100_000 } });
    const data = (size: number): Sources => ({
      api: {
        'a.ts': "import a from './a.txt';\nimport b from './b.txt';\nexport default () => a + b;\n",
        'a.txt': 'a'.repeat(size),
        'b.txt': 'b'.repeat(size),
      },
    });
    expect(await bench.build('api/a.ts', data(60_000))).toMatchObject({
      ok: false,
      reason: 'BuildTooLarge',
      message: expect.stringContaining('100000 bytes'),
    });
    expect(await bench.build('api/a.ts', data(100_001))).toMatchObject({
      ok: false,
      reason: 'BuildTooLarge',
      message: expect.stringContaining('api/a.txt'),
      location: { file: 'api/a.ts', line: 1, column: 15 },
    });
    expect(await bench.build('api/a.ts', data(40_000))).toMatchObject({ ok: true });
  });

  it('B1: builds four at once; the time that others wait does not count as theirs', async () => {
    const fake = new FakeClock();
    bench = buildBench({ clock: fake, limits: { timeoutMs: 2500 } });
    bench.holdBlobs();
    const ended: (string | false)[] = [];
    const results = Array.from({ length: 6 }, async () => {
      const result = await bench.build('api/hello.ts', HELLO);
      ended.push(!result.ok && result.reason);
    });
    await eventually(() => expect(bench.requestCount()).toBe(4));
    expect(buildLeaders()).toHaveLength(4);
    await fake.advance(2500);
    await eventually(() => expect(bench.requestCount()).toBe(6));
    expect(ended).toEqual(Array(4).fill('BuildTimeout'));
    expect(buildLeaders()).toHaveLength(2);
    await fake.advance(2499);
    expect(ended).toHaveLength(4);
    expect(buildLeaders()).toHaveLength(2);
    await fake.advance(1);
    await Promise.all(results);
    expect(ended).toEqual(Array(6).fill('BuildTimeout'));
    expect(buildLeaders()).toEqual([]);
  });

  it('kills a build that is no longer wanted, and one that waits leaves the queue', async () => {
    bench = buildBench({ limits: { concurrency: 1 } });
    const abort = new AbortController();
    const { result, members, release } = await hanging(abort.signal);
    const waiting = new AbortController();
    const second = bench.build('api/hello.ts', HELLO, waiting.signal);
    const third = bench.build('api/hello.ts', HELLO);
    waiting.abort(new Error('not wanted'));
    await expect(second).rejects.toThrow('not wanted');
    abort.abort(new Error('superseded'));
    await expect(result).rejects.toThrow('superseded');
    expect(groupMembers(...members)).toEqual([]);
    release();
    expect(await third).toMatchObject({ ok: true });
  });

  it('rejects when a blob is not available: then the code is not at fault', async () => {
    bench = buildBench();
    const request = await bench.request('api/hello.ts', HELLO);
    bench.content.corrupt(request.trees.get('api')!.files[0]!.digest);
    await expect(bench.builder.build(request, new AbortController().signal)).rejects.toMatchObject({
      code: 'internal_error',
    });
    expect(buildLeaders()).toEqual([]);
  });

  it('ends what runs when it is stopped', async () => {
    bench = buildBench();
    const { result, members } = await hanging();
    await bench.builder.stop();
    await expect(result).rejects.toThrow('stopping');
    expect(groupMembers(...members)).toEqual([]);
  });

  it('ends typed with 20,000 modules', async () => {
    bench = buildBench();
    const count = 20_000;
    const imports = (n: number): string =>
      [1, 2, 3, 4]
        .map((k) => 4 * n + k)
        .filter((child) => child < count)
        .map((child) => `import './m${child}.js';`)
        .join('');
    const module = (n: number): string =>
      `${imports(n)}\nexport const n${n} = globalThis.n = ${n};\nexport default () => 0;\n`;
    const files = Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}.js`, module(n)]));
    const result = await bench.build('api/m0.js', { api: files });
    expect(result.ok || ['BuildTimeout', 'BuildOutOfMemory'].includes(result.reason)).toBe(true);
    expect(buildLeaders()).toEqual([]);
  }, 90_000);
});

function expectOtherUser(pids: number[]): void {
  for (const pid of pids) {
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

describe('a build and the disk (B1)', () => {
  const CACHE_BYTES = 4 * MIB;
  const TARBALL_BYTES = 2 * MIB;
  const LOOK_MS = 100;
  let registry: TestRegistry;
  let cache: string;
  let packageRegistry: ReturnType<typeof createPackageRegistry>;
  let bench: BuildBench;
  beforeAll(async () => {
    registry = await startTestRegistry();
    // What does not compress: together twice what the cache may hold.
    for (const n of packageNumbers)
      await registry.publish({
        name: `big-${n}`,
        version: '1.0.0',
        files: { 'data.js': `module.exports = '${randomBytes(MIB).toString('hex')}';` },
      });
    await registry.publish({
      name: 'too-big',
      version: '1.0.0',
      files: { 'data.js': `module.exports = '${randomBytes(3 * MIB).toString('hex')}';` },
    });
    await registry.publish({
      name: 'bomb',
      version: '1.0.0',
      files: { 'data.js': `module.exports = '${'0'.repeat(300 * MIB)}';` },
    });
  }, 120_000);
  afterAll(() => registry.stop());
  beforeEach(() => {
    cache = mkdtempSync(path.join(tmpdir(), 'wherry-disk-'));
    const limits = { cacheBytes: CACHE_BYTES, tarballBytes: TARBALL_BYTES };
    packageRegistry = createPackageRegistry({
      cacheDirectory: cache,
      registry: { url: registry.url },
      limits,
      clock,
      logger: new FakeLogger(),
      metrics: new FakeMetrics(),
    });
    bench = buildBench({ packages: async () => packageRegistry });
  });
  afterEach(async () => {
    await bench.builder.stop();
    await packageRegistry.stop();
    rmSync(cache, { recursive: true, force: true });
  });

  const packageNumbers = Array.from({ length: 8 }, (_, index) => index);
  const importing = (name: string, text = ''): Sources => ({
    api: { 'h.ts': `import data from 'npm:${name}@1.0.0/data.js'; export default () => data.length; ${text}` },
  });

  /**
   * The folder of the process that calls the registry: the manifests that it resolves lie there, and no package does.
   */
  const INSTALL_FOLDER = /^.*\/wherry-install-[^/]+(?=\/)/;
  const MANIFEST_BYTES = 64 * 1024;

  /** Builds, and looks all the while at what lies in the cache and at which files the processes write. */
  async function watched(
    handler: string,
    sources: Sources,
  ): Promise<{ result: BuildResult; mostBytes: number; writes: string[] }> {
    let mostBytes = 0;
    const writes = new Set<string>();
    // What we print to, where that is a file: some children print there as well.
    const printed = new Set([1, 2].map((fd) => readlinkSync(`/proc/self/fd/${fd}`)));
    const written = (file: string): void => {
      if (printed.has(file)) return;
      const folder = INSTALL_FOLDER.exec(file)?.[0];
      if (folder === undefined || sizeOf(folder) > MANIFEST_BYTES) writes.add(file);
    };
    let looks = 0;
    const look = (): void => {
      looks += 1;
      mostBytes = Math.max(mostBytes, sizeOf(cache));
      for (const pid of descendants(process.pid)) for (const file of filesWritten(pid)) written(file);
    };
    const looking = setInterval(look, LOOK_MS);
    try {
      const result = await bench.build(handler, sources);
      look();
      expect(looks).toBeGreaterThan(0);
      return { result, mostBytes, writes: [...writes] };
    } finally {
      clearInterval(looking);
    }
  }

  it('B1: packages do not make the cache grow beyond its bound, however many are requested', async () => {
    for (const n of packageNumbers) {
      const { result, mostBytes, writes } = await watched('api/h.ts', importing(`big-${n}`));
      expect(result).toMatchObject({ ok: true });
      // Beside what may stay there, the one that is being written.
      expect(mostBytes).toBeLessThanOrEqual(CACHE_BYTES + TARBALL_BYTES);
      expect(writes).toEqual([]);
    }
    expect(sizeOf(cache)).toBeGreaterThan(CACHE_BYTES / 2);
    expect(sizeOf(cache)).toBeLessThanOrEqual(CACHE_BYTES + TARBALL_BYTES);
  }, 120_000);

  it.each([
    ['too-big', 'PackageTooLarge'],
    ['bomb', 'PackageTooLarge'],
  ])(
    'B1: a tarball that is too large, packed or unpacked, fills no disk (%s)',
    async (name, reason) => {
      const { result, mostBytes, writes } = await watched('api/h.ts', importing(name));
      expect(result).toMatchObject({ ok: false, reason });
      expect(mostBytes).toBeLessThanOrEqual(TARBALL_BYTES);
      expect(writes).toEqual([]);
    },
    60_000,
  );

  it.each([
    [
      'an output over its limit',
      {
        'h.ts': `${Array.from({ length: 4 }, (_, n) => `import t${n} from './${n}.txt';`).join('')} export default () => [t0, t1, t2, t3];`,
        ...Object.fromEntries([0, 1, 2, 3].map((n) => [`${n}.txt`, `${n}`.repeat(8 * MIB)])),
      },
    ],
    [
      'a thousand modules',
      {
        'h.ts': `${Array.from({ length: 1000 }, (_, n) => `import './m${n}.js';`).join('')} export default () => 0;`,
        ...Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`m${n}.js`, `console.log(${n});`])),
      },
    ],
  ])(
    'B1: nothing is written for %s',
    async (_what, files) => {
      const { result, mostBytes, writes } = await watched('api/h.ts', { api: files });
      expect(result.ok || ['BuildTooLarge', 'BuildTimeout', 'BuildOutOfMemory'].includes(result.reason)).toBe(true);
      expect([mostBytes, writes]).toEqual([0, []]);
    },
    90_000,
  );
});

function sizeOf(folder: string): number {
  let bytes = 0;
  for (const entry of entriesBelow(folder)) {
    if (entry.isFile())
      bytes += statSync(path.join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}

/** None where the folder, or one in it that is being read, is gone meanwhile: the next look sees what is left. */
function entriesBelow(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Processes below this one that build or install; the registry of the test is none of them. */
function descendants(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
        const isChild = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
        if (!isChild || readFileSync(`/proc/${name}/cmdline`, 'latin1').includes('verdaccio')) return [];
        return [Number(name), ...descendants(Number(name))];
      } catch {
        return [];
      }
    });
}

/** What the descriptors of a process lead to; one that is closed meanwhile leads nowhere. */
function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
}

/** Regular files that a process holds open for writing. */
function filesWritten(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const file = readlinkSync(`/proc/${pid}/fd/${fd}`);
      if (!file.startsWith('/') || file.startsWith('/dev/') || file.startsWith('/proc/')) return [];
      const flags = Number.parseInt(
        /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'latin1'))?.[1] ?? '0',
        8,
      );
      return (flags & 0o3) === 0 ? [] : [file];
    });
  } catch {
    return [];
  }
}
