import { renameSync, rmSync } from 'node:fs';
import { LogDatabase } from './log-database.ts';

/** SQLITE_CORRUPT and SQLITE_NOTADB: the file itself is bad, so that no later try could succeed. */
const DAMAGED = new Set([11, 26]);

/**
 * Opens the log database. A damaged one is set aside and an empty one begun: lost logs must not keep functions from
 * being served.
 * @returns the database, and where a damaged file went.
 * @throws Error when the file cannot be opened for another reason.
 */
export function openLogDatabase(file: string, maxPerFunction: number): { database: LogDatabase; setAside?: string } {
  try {
    return { database: new LogDatabase(file, maxPerFunction) };
  } catch (error) {
    if (!DAMAGED.has(Number((error as { errcode?: number }).errcode))) throw error;
    const setAside = `${file}.damaged`;
    renameSync(file, setAside);
    // They belong to the damaged file, and would be read into the new one.
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
    return { database: new LogDatabase(file, maxPerFunction), setAside };
  }
}
