import type { DatabaseSync } from 'node:sqlite';

/** Does all of the work or none of it. @throws what the work throws. */
export function transaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite has rolled back by itself after some failures, a full disk among them.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
