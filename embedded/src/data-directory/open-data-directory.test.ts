import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { openDataDirectory, type DataDirectory } from './open-data-directory.ts';
import { ownIdentity } from './process-identity.ts';
import { makeDeepTree } from '../workloads/testing/deep-tree.ts';
import { StartError } from '@wherry/service/start-error.ts';

const FIXTURE = path.join(import.meta.dirname, 'testing', 'hold-directory.ts');

interface Answer {
  held: boolean;
  run: string;
  warnings: { message: string }[];
  name: string;
  message: string;
}

let parent: string;
let folder: string;
let children: ChildProcess[];
/** Folders for sockets that killed holders leave. */
let runs: string[];
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), 'wherry-data-test-'));
  folder = path.join(parent, 'data');
  children = [];
  runs = [];
});
afterEach(async () => {
  await Promise.all(children.map(end));
  for (const run of runs) rmSync(run, { recursive: true, force: true });
  rmSync(parent, { recursive: true });
});

const open = (at: string): Promise<DataDirectory> => openDataDirectory({ path: at, logger: new FakeLogger() });
const lockFile = () => path.join(folder, 'wherry.lock');
const lockText = () => JSON.parse(readFileSync(lockFile(), 'utf8')) as Record<string, unknown>;
const modeOf = (file: string) => statSync(file).mode & 0o777;

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Another service on the folder. @param prefix of its command. */
async function hold(prefix: string[] = []): Promise<{ child: ChildProcess; answer: Answer }> {
  const [command = '', ...args] = [...prefix, process.execPath, FIXTURE, folder];
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const answer = JSON.parse(line) as Answer;
    if (answer.held) runs.push(answer.run);
    return { child, answer };
  }
  throw new Error('the holder said nothing');
}

async function startError(): Promise<StartError> {
  const error = await open(folder).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StartError);
  expect((error as StartError).message).not.toContain('\n');
  return error as StartError;
}

describe('openDataDirectory: the folder', () => {
  it('is made with its parents, for its owner alone, and says what goes where', async () => {
    folder = path.join(parent, 'deep', 'er', 'data');
    const directory = await open(folder);
    expect(modeOf(folder)).toBe(0o700);
    expect(modeOf(path.dirname(folder))).toBe(0o700);
    expect(directory.paths).toEqual({
      root: folder,
      database: path.join(folder, 'wherry.db'),
      telemetry: path.join(folder, 'telemetry.db'),
      metrics: path.join(folder, 'metrics.db'),
      audit: path.join(folder, 'audit.db'),
      users: path.join(folder, 'users.db'),
      content: path.join(folder, 'content'),
      keys: path.join(folder, 'keys.json'),
      run: directory.paths.run,
    });
    expect(directory.isNew).toBe(true);
    directory.release();
  });

  it('is removed at release, with the parents that were made, where nothing was stored in it', async () => {
    folder = path.join(parent, 'deep', 'er', 'data');
    (await open(folder)).release();
    expect(readdirSync(parent)).toEqual([]);
  });

  it.each([
    ['it was there before', () => mkdirSync(folder), () => undefined],
    ['something was stored in it', () => undefined, () => writeFileSync(path.join(folder, 'wherry.db'), '')],
  ])('is kept at release where %s', async (_what, before, meanwhile) => {
    before();
    const directory = await open(folder);
    meanwhile();
    directory.release();
    expect(existsSync(folder)).toBe(true);
  });

  it('is no longer new once it has a database', async () => {
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(path.join(folder, 'wherry.db'), '');
    const directory = await open(folder);
    expect(directory.isNew).toBe(false);
    directory.release();
  });

  it('is made private where it is empty or already ours, and refused where it holds the files of others', async () => {
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    (await open(folder)).release();
    expect(modeOf(folder)).toBe(0o700);
    chmodSync(folder, 0o777);
    (await open(folder)).release();
    expect(modeOf(folder)).toBe(0o700);

    folder = path.join(parent, 'home');
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    writeFileSync(path.join(folder, 'letter.txt'), '');
    expect((await startError()).message).toContain(folder);
    expect(modeOf(folder)).toBe(0o755);
  });

  it('is refused in one line where it is a file, or below one', async () => {
    writeFileSync(folder, '');
    expect((await startError()).message).toContain(folder);
    folder = path.join(folder, 'below');
    expect((await startError()).message).toContain(folder);
  });

  it('is refused in one line where it cannot be written to', async () => {
    // A kernel's folder: not even root may write there.
    folder = '/proc/self/fdinfo';
    expect((await startError()).message).toContain(folder);
    folder = '/proc/self/absent';
    expect((await startError()).message).toContain(folder);
  });
});

describe('openDataDirectory: the lock', () => {
  it('names its holder in wherry.lock, and is gone after release', async () => {
    const directory = await open(folder);
    expect(lockText()).toEqual({ ...ownIdentity(), run: directory.paths.run });
    expect(modeOf(lockFile())).toBe(0o600);
    directory.release();
    expect(existsSync(lockFile())).toBe(false);
    expect(existsSync(directory.paths.run)).toBe(false);
    directory.release();
    (await open(folder)).release();
  });

  it('refuses a second service, naming the pid and the folder of the first', async () => {
    const { child } = await hold();
    const { message } = await startError();
    expect(message).toContain(`pid ${child.pid}`);
    expect(message).toContain(folder);
    expect(lockText()).toMatchObject({ pid: child.pid });
  });

  it('refuses a second service in the same process, and lets go at release', async () => {
    const { release } = await open(folder);
    expect((await startError()).message).toContain(`pid ${process.pid}`);
    expect((await hold()).answer).toMatchObject({ held: false, name: 'StartError' });
    release();
    expect((await hold()).answer.held).toBe(true);
  });

  it('is kept though nobody keeps what openDataDirectory gave, and garbage is collected', async () => {
    await open(folder);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    for (let i = 0; i < 3; i += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
    }
    expect((await hold()).answer).toMatchObject({ held: false, name: 'StartError' });
    rmSync(lockText()['run'] as string, { recursive: true });
  });

  it('names no process that does not run', async () => {
    const { release } = await open(folder);
    writeFileSync(lockFile(), JSON.stringify({ pid: process.pid, startTime: '1' }));
    expect((await startError()).message).not.toContain('pid');
    release();
  });

  it('is taken over after kill -9, with what the killed service left', async () => {
    const { child, answer } = await hold();
    expect(existsSync(answer.run)).toBe(true);
    await end(child);
    expect(lockText()).toMatchObject({ pid: child.pid });
    const directory = await open(folder);
    expect(lockText()).toMatchObject({ pid: process.pid });
    expect(existsSync(answer.run)).toBe(false);
    expect(directory.paths.run).not.toBe(answer.run);
    directory.release();
  });

  it('is taken over with folders beyond the longest path that the system takes', async () => {
    const { child, answer } = await hold();
    const instance = path.join(answer.run, 'i/abc/tmp');
    mkdirSync(instance, { recursive: true });
    await makeDeepTree(instance);
    await end(child);
    const directory = await open(folder);
    expect(existsSync(answer.run)).toBe(false);
    directory.release();
  });

  it('is taken over with a warning where what the killed service left cannot be removed', async () => {
    const { child, answer } = await hold();
    const closed = path.join(answer.run, 'i/abc');
    mkdirSync(path.join(closed, 'tmp'), { recursive: true });
    chmodSync(closed, 0o555);
    await end(child);
    // Root may do what the mode forbids only with this capability.
    const next = await hold(process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override', '--'] : []);
    expect(next.answer.warnings).toMatchObject([{ fields: { folder: answer.run } }]);
    expect(next.answer.held).toBe(true);
    chmodSync(closed, 0o755);
  });

  it.each([
    ['a pid that another process has got since', () => JSON.stringify({ pid: process.pid, startTime: '1' })],
    ['an empty file', () => ''],
    ['nonsense', () => '{"pid":"me"}'],
  ])('is taken over from a lock file with %s', async (_what, text) => {
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(lockFile(), text());
    const directory = await open(folder);
    expect(lockText()).toMatchObject({ pid: process.pid });
    directory.release();
  });

  it('goes to exactly one of several that start at once on a stale lock', async () => {
    const first = await hold();
    await end(first.child);
    for (let round = 0; round < 3; round += 1) {
      const starters = await Promise.all([hold(), hold(), hold(), hold()]);
      const holders = starters.filter((starter) => starter.answer.held);
      expect(holders).toHaveLength(1);
      expect(lockText()).toMatchObject({ pid: holders[0]?.child.pid });
      await end(holders[0]!.child);
    }
  }, 30_000);

  it('does not take away a lock file that is not its own', async () => {
    const directory = await open(folder);
    writeFileSync(lockFile(), JSON.stringify({ pid: 1 }));
    directory.release();
    expect(lockText()).toEqual({ pid: 1 });
  });
});

describe('openDataDirectory: the folder for sockets', () => {
  it('has a short path, lets others pass but not look, and is another each time', async () => {
    const first = await open(folder);
    expect(Buffer.byteLength(first.paths.run)).toBeLessThanOrEqual(50);
    expect(modeOf(first.paths.run)).toBe(0o711);
    first.release();
    const second = await open(folder);
    expect(second.paths.run).not.toBe(first.paths.run);
    second.release();
  });

  it('is left alone while its service runs, though a copied data directory names it', async () => {
    const running = await hold();
    const copied = readFileSync(lockFile());
    folder = path.join(parent, 'copy');
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(lockFile(), copied);
    const directory = await open(folder);
    expect(existsSync(running.answer.run)).toBe(true);
    directory.release();
  });

  it('is the only thing that a stale lock can have removed', async () => {
    const precious = path.join(parent, 'wherry-precious');
    mkdirSync(precious);
    mkdirSync(folder, { mode: 0o700 });
    for (const run of [precious, parent, '../precious', '/']) {
      writeFileSync(lockFile(), JSON.stringify({ pid: 2 ** 22 + 1, run }));
      (await open(folder)).release();
    }
    expect(existsSync(precious)).toBe(true);
  });
});
