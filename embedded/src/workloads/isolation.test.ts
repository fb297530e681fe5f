import { spawnSync } from 'node:child_process';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { InstanceAddress } from '@wherry/core/ports/workloads.ts';
import { call, TestBench } from './testing/test-bench.ts';

/** Evaluates the target, an expression percent-encoded, and answers with its value or its error's code. */
const EVALUATE = `
  const fs = process.getBuiltinModule('fs'); const net = process.getBuiltinModule('net');
  const connect = (path) => new Promise((ok, no) => net.connect(path, () => ok('connected')).on('error', no));
  try { response.end(JSON.stringify(await eval(decodeURIComponent(request.url.slice(1)))) ?? 'undefined'); }
  catch (error) { response.end('error ' + (error.code ?? error.message)); }`;
const DENIED = /^error (ERR_ACCESS_DENIED|EACCES|EPERM|ENOENT)$/;

describe('S1: what a handler can reach', () => {
  const asRoot = process.getuid?.() === 0;
  let bench: TestBench;
  let data: string;
  let mine: { address: InstanceAddress; folder: string };
  let theirs: { address: InstanceAddress; folder: string };
  let theirPid: string;
  const evaluate = (code: string): Promise<string> => call(mine.address, `/${encodeURIComponent(code)}`);

  beforeAll(async () => {
    bench = await TestBench.start({ spares: 1 });
    data = path.join(bench.directory, 'data');
    await mkdir(data, { mode: 0o755 });
    for (const name of ['wherry.db', 'keys.json']) await writeFile(path.join(data, name), 'secret', { mode: 0o644 });
    const [a, b] = [
      await bench.run(bench.desire('mine', bench.listener(EVALUATE))),
      await bench.run(bench.desire('theirs', bench.listener(EVALUATE))),
    ];
    const folderOf = ({ address }: { address: InstanceAddress }): string =>
      path.dirname('path' in address ? address.path : '');
    mine = { address: a.address, folder: folderOf(a) };
    theirs = { address: b.address, folder: folderOf(b) };
    theirPid = await call(b.address, '/process.pid');
  });
  afterAll(() => bench.stop());

  it('has the documented environment and no other', async () => {
    expect(JSON.parse(await evaluate('process.env'))).toEqual({
      NODE_ENV: 'production',
      TZ: Intl.DateTimeFormat().resolvedOptions().timeZone,
      TMPDIR: `${mine.folder}/tmp`,
    });
  });

  it.each([
    ['the database', (): string => `fs.readFileSync('${data}/wherry.db')`],
    ['the keys, by promise', (): string => `fs.promises.readFile('${data}/keys.json')`],
    ['the keys, by a stream', (): string => `fs.promises.open('${data}/keys.json')`],
    ['the keys, by a Buffer', (): string => `fs.readFileSync(Buffer.from('${data}/keys.json'))`],
    ['the keys, by a URL', (): string => `fs.readFileSync(new URL('file://${data}/keys.json'))`],
    ['the keys, by a way around', (): string => `fs.readFileSync(process.env.TMPDIR + '/../../../data/keys.json')`],
    ['the keys, by a copy', (): string => `fs.copyFileSync('${data}/keys.json', process.env.TMPDIR + '/k')`],
    [
      'the keys, by a symlink',
      (): string =>
        `(fs.symlinkSync('${data}/keys.json', process.env.TMPDIR + '/l'), fs.readFileSync(process.env.TMPDIR + '/l'))`,
    ],
    [
      'the keys, by a relative symlink',
      (): string =>
        `(fs.symlinkSync('../../../data/keys.json', process.env.TMPDIR + '/m'), fs.readFileSync(process.env.TMPDIR + '/m'))`,
    ],
    [
      'the keys, by a hard link',
      (): string =>
        `(fs.linkSync('${data}/keys.json', process.env.TMPDIR + '/h'), fs.readFileSync(process.env.TMPDIR + '/h'))`,
    ],
    ['the keys, as an environment file', (): string => `process.loadEnvFile('${data}/keys.json')`],
    [
      'the keys, as a module',
      (): string => `process.getBuiltinModule('module').createRequire('/app.js')('${data}/keys.json')`,
    ],
    ["the service's environment", (): string => `fs.readFileSync('/proc/' + process.ppid + '/environ')`],
    ['its own process entry', (): string => `fs.readFileSync('/proc/self/environ')`],
    ['a descriptor by path', (): string => `fs.readFileSync('/proc/self/fd/3')`],
    ['absolute paths', (): string => `fs.readFileSync('/etc/passwd')`],
    ["another function's folder", (): string => `fs.readdirSync('${theirs.folder}')`],
    ["another function's files", (): string => `fs.writeFileSync('${theirs.folder}/tmp/x', 'x')`],
    ["its own socket's folder", (): string => `fs.unlinkSync('${mine.folder}/s')`],
    ['the run directory', (): string => `fs.readdirSync('${bench.directory}')`],
    ['another process', (): string => `process.getBuiltinModule('child_process').execFileSync('/bin/id')`],
    ['a worker thread', (): string => `new (process.getBuiltinModule('worker_threads').Worker)('1', { eval: true })`],
    ['the inspector', (): string => `process.getBuiltinModule('inspector').open(0)`],
    ['internal bindings', (): string => `process.binding('fs')`],
    ['another program in its place', (): string => `process.execve('/bin/id', ['id'], {})`],
    ['another folder to work in', (): string => `process.chdir('/etc')`],
    ['a heap snapshot elsewhere', (): string => `process.getBuiltinModule('v8').writeHeapSnapshot('${data}/x')`],
  ])('cannot reach %s', async (_name, code) => {
    expect(await evaluate(code())).toMatch(DENIED);
  });

  it('has no node:sqlite, which would open any file', async () => {
    expect(await evaluate(`process.getBuiltinModule('node:sqlite')`)).toBe('undefined');
    expect(await evaluate(`import('node:sqlite')`)).toBe('error ERR_UNKNOWN_BUILTIN_MODULE');
  });

  it('loads no native code', async () => {
    expect(await evaluate(`process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libm.so.6')`)).toBe(
      'error ERR_DLOPEN_DISABLED',
    );
  });

  it('can use its own temporary folder, time zones, and the certificate authorities', async () => {
    const code = `const os = process.getBuiltinModule('os'); fs.mkdirSync(os.tmpdir() + '/a/b', { recursive: true });
      fs.writeFileSync(os.tmpdir() + '/a/b/c', 'kept'); fs.readFileSync(os.tmpdir() + '/a/b/c', 'utf8')`;
    expect(await evaluate(code)).toBe('"kept"');
    expect(await evaluate(`new Date(0).toLocaleTimeString('en-GB', { timeZone: 'Asia/Tokyo' })`)).toBe('"09:00:00"');
    expect(Number(await evaluate(`process.getBuiltinModule('tls').rootCertificates.length`))).toBeGreaterThan(50);
    expect(await evaluate(`process.getBuiltinModule('dns').promises.lookup('localhost').then(() => 'found')`)).toBe(
      '"found"',
    );
  });

  const rootIt = asRoot ? it : it.skip;

  rootIt('runs as a user of its own, without groups and without a way to more rights', async () => {
    const users = await Promise.all(
      [mine, theirs].map(({ address }) => call(address, '/[process.getuid(),process.getgid()]')),
    );
    const [[uid, gid], [otherUid]] = users.map((text) => JSON.parse(text) as [number, number]) as [
      [number, number],
      [number, number],
    ];
    expect([uid === gid, uid > 60_000, uid !== otherUid]).toEqual([true, true, true]);
    expect(await evaluate('process.getgroups()')).toBe(`[${gid}]`);
    expect(await evaluate('process.setuid(0)')).toBe('error EPERM');
    expect(await evaluate('fs.writeSync(3, "")')).toBe('0');
  });

  rootIt.each([
    ['signal the service', (): string => `process.kill(process.ppid, 0)`],
    ["connect to another function's socket", (): string => `connect('${theirs.folder}/s')`],
  ])('cannot %s', async (_name, code) => {
    expect(await evaluate(code())).toMatch(/^error (EACCES|EPERM)$/);
  });

  rootIt('cannot signal another function', async () => {
    expect(await evaluate(`process.kill(${theirPid}, 0)`)).toBe('error EPERM');
  });

  rootIt.each([
    ["the service's environment", (): string => `cat /proc/${process.pid}/environ`],
    ["another function's folder", (): string => `ls ${theirs.folder}`],
    ["the run directory's list", (): string => `ls ${bench.directory}`],
    ['the records of processes', (): string => `ls ${bench.directory}/pids`],
    ["another function's environment", (): string => `cat /proc/${theirPid}/environ`],
    ["another function's descriptors", (): string => `ls /proc/${theirPid}/fd/`],
    ['another function, by a signal', (): string => `kill -9 ${theirPid}`],
  ])('its user cannot reach %s, without the permission model either', async (_name, command) => {
    const uid = Number(await evaluate('process.getuid()'));
    const { status, stderr } = spawnSync('/bin/sh', ['-c', command()], { uid, gid: uid, cwd: '/', encoding: 'utf8' });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/Permission denied|not permitted/);
  });

  rootIt("S2: nobody but root and its own user can enter an instance's folder", async () => {
    const { mode, uid } = await stat(mine.folder);
    expect([(mode & 0o777).toString(8), uid]).toEqual(['700', Number(await evaluate('process.getuid()'))]);
    expect(((await stat(bench.directory)).mode & 0o777).toString(8)).toBe('711');
  });
});
