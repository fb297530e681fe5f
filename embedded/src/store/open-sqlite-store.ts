import type { Clock } from '@wherry/core/ports/clock.ts';
import { MIGRATIONS } from './object-table.ts';
import { openDatabase } from './open-database.ts';
import { SqliteStore } from './sqlite-store.ts';

interface SqliteStoreOptions {
  /** The database; created where it does not exist. */
  file: string;
  namespace: string;
  clock: Pick<Clock, 'now'>;
  /** How many changes are kept for watches; 10,000 by default. A watch further behind ends with `Expired:`. */
  history?: number;
}

const HISTORY = 10_000;

/**
 * A ResourceStore on one SQLite file: each write is one transaction, on disk when it is acknowledged. Watches are woken
 * only by writes of this store, so the file must have no other writer (the data directory's lock ensures that).
 * @throws StartError where the file is damaged, of a newer version, or cannot be opened
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const database = openDatabase(options.file, MIGRATIONS);
  return new SqliteStore(database, { history: HISTORY, ...options });
}
