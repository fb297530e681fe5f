import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { createTarballCache, type TarballCache } from './tarball-cache.ts';

const KIB = 1024;
const integrityOf = (bytes: Buffer): string => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;

describe('createTarballCache', () => {
  let directory: string;
  let clock: FakeClock;
  let logger: FakeLogger;
  let cache: TarballCache;

  beforeEach(async () => {
    directory = path.join(await mkdtemp(path.join(tmpdir(), 'wherry-cache-')), 'tarballs');
    clock = new FakeClock(Date.now());
    logger = new FakeLogger();
    cache = createTarballCache({ directory, maxBytes: 100 * KIB, clock, logger });
  });
  afterEach(() => rm(path.dirname(directory), { recursive: true, force: true }));

  async function put(into = cache): Promise<string> {
    const bytes = randomBytes(10 * KIB);
    await into.write(integrityOf(bytes), bytes);
    await clock.advance(1000);
    return integrityOf(bytes);
  }

  it('gives back what was written, and nothing for what was not', async () => {
    const bytes = randomBytes(KIB);
    expect(await cache.read(integrityOf(bytes))).toBeUndefined();
    await cache.write(integrityOf(bytes), bytes);
    expect(await cache.read(integrityOf(bytes))).toEqual(bytes);
  });

  it('is one cache for all who use the folder, also at the same time', async () => {
    const bytes = randomBytes(KIB);
    const other = createTarballCache({ directory, maxBytes: 100 * KIB, clock, logger });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? cache : other).write(integrityOf(bytes), bytes)),
    );
    expect(await other.read(integrityOf(bytes))).toEqual(bytes);
    expect(await readdir(directory)).toHaveLength(1);
    expect(logger.lines).toEqual([]);
  });

  it('drops a file that is damaged', async () => {
    const integrity = await put();
    const [name] = await readdir(directory);
    await writeFile(path.join(directory, name!), 'something else');
    expect(await cache.read(integrity)).toBeUndefined();
    expect(await readdir(directory)).toEqual([]);
  });

  it('is bounded: what was not used for longest goes first', async () => {
    const first = await put();
    const second = await put();
    for (let count = 0; count < 7; count += 1) await put();
    expect(await cache.read(first)).toBeDefined();
    await clock.advance(1000);
    for (let count = 0; count < 3; count += 1) await put();
    expect((await readdir(directory)).length).toBeLessThanOrEqual(10);
    expect(await cache.read(second)).toBeUndefined();
    expect(await cache.read(first)).toBeDefined();
  });

  it('removes what a process that died left, and not what another writes now', async () => {
    await put();
    await writeFile(path.join(directory, '.left'), 'half');
    await writeFile(path.join(directory, '.now'), 'half');
    const long = clock.now() / 1000 - 2 * 60 * 60;
    await utimes(path.join(directory, '.left'), long, long);
    await put(createTarballCache({ directory, maxBytes: 100 * KIB, clock, logger }));
    expect((await readdir(directory)).filter((name) => name.startsWith('.'))).toEqual(['.now']);
  });

  it('goes without a folder that cannot be written', async () => {
    await writeFile(directory, 'a file in its place');
    const bytes = randomBytes(KIB);
    await cache.write(integrityOf(bytes), bytes);
    expect(await cache.read(integrityOf(bytes))).toBeUndefined();
    expect(logger.lines).toEqual([expect.objectContaining({ level: 'warn' })]);
  });
});
