import { existsSync, renameSync } from 'node:fs';

/** SQLITE_CORRUPT and SQLITE_NOTADB: the file itself is damaged, so no retry could succeed. */
const DAMAGED = new Set([11, 26]);

/**
 * Opens a SQLite database that is not needed to serve functions. A damaged one is set aside with its journal, and an
 * empty one is created.
 * @param aside where a damaged file goes.
 * @returns the database, and where a damaged file went.
 * @throws Error when the file cannot be opened for another reason.
 */
export function openOrSetAside<D>(
  file: string,
  open: () => D,
  aside = `${file}.damaged`,
): { database: D; setAside: string | undefined } {
  try {
    return { database: open(), setAside: undefined };
  } catch (error) {
    if (!DAMAGED.has(Number((error as { errcode?: number }).errcode))) throw error;
    // The journal belongs to the damaged file, and would be read into the new one.
    for (const suffix of ['', '-wal', '-shm']) if (existsSync(file + suffix)) renameSync(file + suffix, aside + suffix);
    return { database: open(), setAside: aside };
  }
}
