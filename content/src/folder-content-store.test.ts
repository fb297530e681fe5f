import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { contentStoreContract } from '@wherry/testing/contracts/content-store-contract.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { createFolderContentStore } from './folder-content-store.ts';

let root: string;
let directory: string;
let logger: FakeLogger;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'wherry-content-'));
  directory = path.join(root, 'data', 'content');
  logger = new FakeLogger();
});
afterEach(() => rm(root, { recursive: true, force: true }));

const openStore = (clock = new FakeClock()): Promise<ContentStore> =>
  createFolderContentStore({ directory, clock, logger });
const fileOf = (digest: string): string => path.join(directory, 'blobs', digest.slice(0, 2), digest.slice(2));
const leftOver = (): Promise<string[]> => readdir(path.join(directory, 'tmp'));
const mode = async (file: string): Promise<string> => ((await stat(file)).mode & 0o777).toString(8);

describe('the folder ContentStore', () => {
  contentStoreContract(async () => {
    const clock = new FakeClock();
    return {
      store: await openStore(clock),
      clock,
      corrupt: (digest) => writeFile(fileOf(digest), 'not what was put'),
      stop: async () => expect(await leftOver()).toEqual([]),
    };
  });

  it('finds what was put again after it is opened again', async () => {
    const { digest } = await (await openStore()).put(Buffer.from('kept'));
    expect((await (await openStore()).get(digest)).toString()).toBe('kept');
  });

  it('lets nobody else read', async () => {
    const { digest } = await (await openStore()).put(Buffer.from('mine'));
    const folders = [
      directory,
      path.join(directory, 'blobs'),
      path.dirname(fileOf(digest)),
      path.join(directory, 'tmp'),
    ];
    expect(await Promise.all(folders.map(mode))).toEqual(folders.map(() => '700'));
    expect(await mode(fileOf(digest))).toBe('600');
  });

  it('F2: removes what a killed process left half-written', async () => {
    await openStore();
    await writeFile(path.join(directory, 'tmp', 'half'), 'half a bl');
    await openStore();
    expect(await leftOver()).toEqual([]);
  });

  it.each([0, 3])('B4: detects a blob that was cut to %d bytes, and logs an error', async (length) => {
    const store = await openStore();
    const { digest } = await store.put(Buffer.from('a whole blob'));
    await truncate(fileOf(digest), length);
    await expect(store.get(digest)).rejects.toMatchObject({ code: 'internal_error' });
    expect(logger.of('error')).toMatchObject([{ fields: { digest } }]);
  });

  it('F1: takes no path for a digest', async () => {
    const store = await openStore();
    await writeFile(path.join(directory, 'secret'), 'secret');
    for (const digest of ['../../secret', 'ab/../../../secret', '', 'A'.repeat(64), `${'a'.repeat(64)}/..`]) {
      expect(await store.has(digest)).toBe(false);
      await expect(store.get(digest)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  it('leaves alone what is not a blob of its own when it collects', async () => {
    const clock = new FakeClock();
    const store = await openStore(clock);
    const foreign = path.join(directory, 'blobs', 'ab', 'README');
    await writeFile(foreign, 'not a blob');
    await clock.advance(1000 * 365 * 86_400_000);
    expect(await store.collect(new Set(), 0)).toBe(0);
    await stat(foreign);
  });

  it('never removes a blob that is put again while it collects', async () => {
    const clock = new InterruptingClock();
    const store = await openStore(clock);
    const { digest } = await store.put(Buffer.from('again'));
    await clock.advance(2000);
    let put: Promise<unknown> | undefined;
    // Just when the blob was found to be old.
    clock.interrupt(() => {
      put = store.put(Buffer.from('again'));
    });
    expect(await store.collect(new Set(), 1000)).toBe(0);
    await put;
    expect((await store.get(digest)).toString()).toBe('again');
  });

  it.each(['ENOSPC', 'EDQUOT'])('says that there is no space when the disk does (%s)', async (code) => {
    const store = await openStore();
    await expect(store.put(full(code))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('no space'),
    });
    expect(await leftOver()).toEqual([]);
    expect(await store.put(Buffer.from('room again'))).toMatchObject({ size: 10 });
  });

  it('does not write a blob a second time', async () => {
    const store = await openStore();
    const { digest } = await store.put(Buffer.from('same'));
    const { ino } = await stat(fileOf(digest));
    await store.put(Buffer.from('same'));
    await store.put(stream('sa', 'me'));
    expect((await stat(fileOf(digest))).ino).toBe(ino);
  });

  it('F2: has every blob whose put was answered before kill -9, whole', async () => {
    const acknowledged: string[] = [];
    for (const lines of [1, 7, 20]) acknowledged.push(...(await putUntilKilled(lines)));
    expect(acknowledged.length).toBeGreaterThanOrEqual(28);
    const store = await openStore();
    for (const digest of acknowledged) expect(sha256(await store.get(digest))).toBe(digest);
    expect(await leftOver()).toEqual([]);
  });
});

/** Runs something the next time that somebody looks at it. */
class InterruptingClock extends FakeClock {
  #interruption: (() => void) | undefined;

  interrupt(interruption: () => void): void {
    this.#interruption = interruption;
  }

  override now(): number {
    const interruption = this.#interruption;
    this.#interruption = undefined;
    interruption?.();
    return super.now();
  }
}

/** Runs a process that puts blobs, kills it once it has answered for so many, and gives all that it answered for. */
async function putUntilKilled(lines: number): Promise<string[]> {
  const program = path.join(import.meta.dirname, 'testing', 'put-until-killed.ts');
  const child = spawn(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const seen: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.length === 64) seen.push(line);
    if (seen.length === lines) child.kill('SIGKILL');
  }
  await exited;
  return seen;
}

async function* stream(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function* full(code: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from('some bytes');
  throw Object.assign(new Error('write failed'), { code });
}
