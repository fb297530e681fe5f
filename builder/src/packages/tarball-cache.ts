import { randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { matchesIntegrity } from '../blob-exchange/integrity.ts';

/** A file that a dead process left half written. */
const STALE_MS = 60 * 60_000;
/** A sweep frees more than needed, so that not every write has to sweep. */
const FULL_SHARE = 0.9;

/**
 * Tarballs on the disk by their integrity. A file is written under a temporary name and then renamed, so that any
 * number of processes may share the folder; what is read is verified, so that nobody needs to trust it.
 */
export interface TarballCache {
  /** Undefined when it is missing or damaged. */
  read(integrity: string): Promise<Buffer | undefined>;
  /** Never fails: a tarball that cannot be kept is fetched again. */
  write(integrity: string, bytes: Buffer): Promise<void>;
}

export function createTarballCache(options: {
  directory: string;
  maxBytes: number;
  clock: Clock;
  logger: Logger;
}): TarballCache {
  const { directory, maxBytes, clock, logger } = options;
  let sweeping: Promise<void> | undefined;
  /** Bytes written since the last sweep of the folder; initially, there was none. */
  let unswept = maxBytes;

  async function sweep(): Promise<void> {
    unswept = 0;
    const files = await filesOf(directory);
    const isStale = ({ name, usedAt }: CachedFile): boolean => name.startsWith('.') && clock.now() - usedAt > STALE_MS;
    await Promise.all(files.filter(isStale).map(({ name }) => rm(path.join(directory, name), { force: true })));
    const whole = files.filter(({ name }) => !name.startsWith('.')).sort((a, b) => a.usedAt - b.usedAt);
    let sum = whole.reduce((total, { size }) => total + size, 0);
    if (sum <= maxBytes) return;
    for (const { name, size } of whole) {
      if (sum <= maxBytes * FULL_SHARE) break;
      await rm(path.join(directory, name), { force: true });
      sum -= size;
    }
  }

  return {
    async read(integrity) {
      const file = path.join(directory, fileName(integrity));
      const bytes = await readFile(file).catch(() => undefined);
      if (bytes === undefined) return undefined;
      if (!matchesIntegrity(bytes, integrity)) {
        logger.warn({ integrity }, 'a package in the cache is damaged; fetching it again');
        await rm(file, { force: true }).catch(() => undefined);
        return undefined;
      }
      const now = clock.now() / 1000;
      // Only the order of eviction depends on it.
      await utimes(file, now, now).catch(() => undefined);
      return bytes;
    },
    async write(integrity, bytes) {
      const beside = path.join(directory, `.${randomUUID()}`);
      try {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        await writeFile(beside, bytes, { mode: 0o600, flag: 'wx' });
        await rename(beside, path.join(directory, fileName(integrity)));
        unswept += bytes.length;
        if (unswept > maxBytes / 16) sweeping ??= sweep().finally(() => (sweeping = undefined));
        await sweeping;
      } catch (err) {
        logger.warn({ err }, 'a package could not be added to the cache');
        await rm(beside, { force: true }).catch(() => undefined);
      }
    },
  };
}

interface CachedFile {
  name: string;
  size: number;
  /** Milliseconds since 1970 UTC. */
  usedAt: number;
}

async function filesOf(directory: string): Promise<CachedFile[]> {
  const names = await readdir(directory);
  const files = names.map(async (name) => {
    // Another process has removed it since.
    const found = await stat(path.join(directory, name)).catch(() => undefined);
    return found === undefined ? [] : [{ name, size: found.size, usedAt: found.mtimeMs }];
  });
  return (await Promise.all(files)).flat();
}

/** Hexadecimal, since base64 has slashes and needs upper and lower case distinguished. */
function fileName(integrity: string): string {
  const [algorithm = '', base64 = ''] = integrity.split(/-(.*)/s);
  return `${algorithm}-${Buffer.from(base64, 'base64').toString('hex')}`;
}
