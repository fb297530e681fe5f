import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { contentStoreContract } from '@wherry/testing/contracts/content-store-contract.ts';
import { DomainError } from '@wherry/core/errors.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeContentStore } from '@wherry/testing/fakes/fake-content-store.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { createCachedContentStore } from './cached-content-store.ts';
import { createFolderContentStore } from './folder-content-store.ts';

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;

/** A store that can be away, as a manager is that restarts, and counts its calls. */
class DistantStore implements ContentStore {
  away = false;
  reads = 0;
  readonly #inner: ContentStore;

  constructor(inner: ContentStore) {
    this.#inner = inner;
  }

  put(...given: Parameters<ContentStore['put']>): ReturnType<ContentStore['put']> {
    return this.#reach().put(...given);
  }

  async get(digest: string): Promise<Buffer> {
    this.reads += 1;
    return this.#reach().get(digest);
  }

  async open(digest: string): Promise<AsyncIterable<Uint8Array>> {
    this.reads += 1;
    return this.#reach().open(digest);
  }

  async has(digest: string): Promise<boolean> {
    return this.#reach().has(digest);
  }

  async collect(...given: Parameters<ContentStore['collect']>): Promise<number> {
    return this.#reach().collect(...given);
  }

  #reach(): ContentStore {
    if (this.away) throw new DomainError('unavailable', 'The manager cannot be reached.');
    return this.#inner;
  }
}

let root: string;
let clock: FakeClock;
let logger: FakeLogger;
let inner: DistantStore;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'wherry-cache-'));
  clock = new FakeClock();
  logger = new FakeLogger();
  inner = new DistantStore(new FakeContentStore({ clock }));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const directory = (): string => path.join(root, 'cache');
const fileOf = (digest: string): string => path.join(directory(), 'blobs', digest);
const openCache = (maxBytes = 10 * MIB): Promise<ContentStore> =>
  createCachedContentStore({ inner, directory: directory(), maxBytes, clock, logger });
const names = (folder: string): Promise<string[]> => readdir(path.join(directory(), folder));
const blob = (name: string, bytes = 1000): Buffer => Buffer.alloc(bytes, name);

async function readAll(content: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return sha256(Buffer.concat(chunks));
}

describe('the cached ContentStore over another one', () => {
  contentStoreContract(async () => {
    const folder = path.join(root, 'content');
    const store = await createCachedContentStore({
      inner: await createFolderContentStore({ directory: folder, clock, logger }),
      directory: directory(),
      maxBytes: 10 * MIB,
      clock,
      logger,
    });
    return {
      store,
      clock,
      async corrupt(digest) {
        await writeFile(path.join(folder, 'blobs', digest.slice(0, 2), digest.slice(2)), 'not what was put');
        await writeFile(fileOf(digest), 'not what was put');
      },
      stop: async () => expect(await names('tmp')).toEqual([]),
    };
  });
});

describe('the cached ContentStore', () => {
  it.each([
    ['put', async (store: ContentStore, bytes: Buffer) => store.put(bytes)],
    [
      'put as a stream',
      async (store: ContentStore, bytes: Buffer) =>
        store.put(
          (async function* () {
            yield bytes;
          })(),
        ),
    ],
    ['got', async (store: ContentStore, bytes: Buffer) => store.get((await inner.put(bytes)).digest)],
    [
      'opened',
      async (store: ContentStore, bytes: Buffer) => readAll(await store.open((await inner.put(bytes)).digest)),
    ],
  ])('gives what was %s while the inner store is away, after a restart too', async (_how, before) => {
    await before(await openCache(), blob('a'));
    inner.away = true;
    const cache = await openCache();
    const digest = sha256(blob('a'));
    expect(sha256(await cache.get(digest))).toBe(digest);
    expect(await readAll(await cache.open(digest))).toBe(digest);
    expect(await cache.has(digest)).toBe(true);
  });

  it('says that the inner store is away for what it does not have, and takes nothing', async () => {
    const cache = await openCache();
    inner.away = true;
    const digest = sha256('never seen');
    await expect(cache.get(digest)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(cache.open(digest)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(cache.has(digest)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(cache.put(blob('a'))).rejects.toMatchObject({ code: 'unavailable' });
    expect([await names('blobs'), await names('tmp')]).toEqual([[], []]);
  });

  it('calls the inner store once for what many want at once', async () => {
    const { digest } = await inner.put(blob('a'));
    const cache = await openCache();
    const got = await Promise.all(Array.from({ length: 20 }, () => cache.get(digest)));
    got[0]?.fill(0);
    expect(got.slice(1).every((bytes) => sha256(bytes) === digest)).toBe(true);
    await cache.get(digest);
    expect(inner.reads).toBe(1);
  });

  it.each([0, 3, 1000])(
    'B4: fetches a cached blob again that was damaged on the disk (%d bytes left)',
    async (left) => {
      const cache = await openCache();
      const { digest } = await cache.put(blob('a'));
      if (left === 1000) await writeFile(fileOf(digest), blob('b'));
      else await truncate(fileOf(digest), left);
      expect(sha256(await cache.get(digest))).toBe(digest);
      expect(inner.reads).toBe(1);
      await truncate(fileOf(digest), left === 1000 ? 999 : left);
      expect(await readAll(await cache.open(digest))).toBe(digest);
    },
  );

  it('stays within its bound, and lets go first of what was used longest ago', async () => {
    const cache = await openCache(10_000);
    const digests: string[] = [];
    for (let index = 0; index < 9; index += 1) {
      await clock.advance(2 * MINUTE_MS);
      digests.push((await cache.put(blob(`${index}`))).digest);
    }
    await clock.advance(2 * MINUTE_MS);
    await cache.get(digests[0]!);
    for (const name of ['x', 'y', 'z']) {
      await clock.advance(2 * MINUTE_MS);
      await cache.put(blob(name));
    }
    const left = await names('blobs');
    expect(left.length * 1000).toBeLessThanOrEqual(10_000);
    expect(left).toContain(digests[0]);
    expect(left).not.toContain(digests[1]);
  });

  it('keeps no blob that would push out all others, but hands it on', async () => {
    const cache = await openCache(10_000);
    const { digest } = await cache.put(blob('small'));
    const large = await cache.put(blob('large', 6000));
    expect(sha256(await cache.get(large.digest))).toBe(large.digest);
    expect(await names('blobs')).toEqual([digest]);
  });

  it('removes when it is opened what a killed process left, not what another one is writing', async () => {
    await openCache();
    for (const name of ['old', 'new']) await writeFile(path.join(directory(), 'tmp', name), 'half a bl');
    const hours = (count: number): number => clock.now() / 1000 + count * 3600;
    await utimes(path.join(directory(), 'tmp', 'old'), hours(0), hours(0));
    await utimes(path.join(directory(), 'tmp', 'new'), hours(2), hours(2));
    await clock.advance(2 * 60 * MINUTE_MS);
    await openCache();
    expect(await names('tmp')).toEqual(['new']);
  });

  it('fails no call when its own disk does', async () => {
    const cache = await openCache();
    const { digest } = await inner.put(blob('a'));
    await rm(directory(), { recursive: true });
    await writeFile(directory(), 'no folder any more');
    expect(sha256(await cache.get(digest))).toBe(digest);
    expect(await cache.put(blob('b'))).toMatchObject({ size: 1000 });
    expect(await readAll(await cache.open(digest))).toBe(digest);
    expect(logger.of('warn').length).toBeGreaterThan(0);
  });

  it("gives a digest of nobody's shape to the inner store, and never to the disk", async () => {
    const cache = await openCache();
    await writeFile(path.join(root, 'secret'), 'secret');
    await expect(cache.get('../../secret')).rejects.toMatchObject({ code: 'not_found' });
    await expect(cache.open('../../secret')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is shared by processes that are killed at any moment, and holds whole blobs within its bound', async () => {
    await openCache();
    await chmod(directory(), 0o700);
    for (const rounds of [20, 60]) await Promise.all([useUntilKilled(rounds), useUntilKilled(rounds + 7)]);
    const sizes = await Promise.all((await names('blobs')).map(async (name) => (await stat(fileOf(name))).size));
    // Each of the two may be one trim behind what the other has just written.
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(2 * 200_000);
    const cache = await openCache(200_000);
    inner.away = true;
    const kept = await names('blobs');
    expect(kept.length).toBeGreaterThan(0);
    for (const digest of kept) expect(sha256(await cache.get(digest))).toBe(digest);
  });
});

/**
 * Kills a process that uses the folder after so many rounds. It throws, and so ends early, when it gets other bytes
 * back.
 */
async function useUntilKilled(rounds: number): Promise<void> {
  const program = path.join(import.meta.dirname, 'testing', 'use-cache-until-killed.ts');
  const child = spawn(process.execPath, [program, directory()], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let seen = 0;
  for await (const _line of createInterface({ input: child.stdout })) {
    seen += 1;
    if (seen === rounds) child.kill('SIGKILL');
  }
  await exited;
  expect(seen).toBeGreaterThanOrEqual(rounds);
}
