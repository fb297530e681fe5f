import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StartError } from '@wherry/service/start-error.ts';
import { reasonOf } from '../data-directory/error-facts.ts';

/** Milliseconds to wait for another process that reads or backs up the file. */
const BUSY_TIMEOUT = 2_000;

/**
 * Opens a SQLite file of the data directory, 0600, in WAL mode; what a commit acknowledges survives kill -9 and a loss
 * of power (`synchronous=FULL`). `migrations[n]` brings schema version n to n + 1 (`user_version`).
 * @throws StartError where the file is damaged, not a database, or written by a newer version
 */
export function openDatabase(file: string, migrations: readonly string[]): DatabaseSync {
  makePrivate(file);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT });
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    refuseDamage(database, file);
    migrate(database, file, migrations);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof StartError) throw error;
    throw new StartError(`${file} cannot be opened as a database (${reasonOf(error)}): ${WHAT_TO_DO}`, error);
  }
}

const WHAT_TO_DO = 'restore it from a backup, or move it away to start with an empty one';

/** Before SQLite creates it: its -wal and -shm take the same mode. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
  } catch (error) {
    throw new StartError(`${file} cannot be opened for writing (${reasonOf(error)})`, error);
  }
}

function refuseDamage(database: DatabaseSync, file: string): void {
  const [first] = database.prepare('PRAGMA quick_check(1)').all();
  if (first?.['quick_check'] === 'ok') return;
  throw new StartError(`${file} is damaged (${String(first?.['quick_check'])}): ${WHAT_TO_DO}`);
}

function migrate(database: DatabaseSync, file: string, migrations: readonly string[]): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version > migrations.length) {
    throw new StartError(
      `${file} was written by a newer Wherry (schema ${version}; this version supports up to ${migrations.length}): install that version, or restore an older backup`,
    );
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue;
    database.exec(`BEGIN IMMEDIATE; ${migration}; PRAGMA user_version = ${index + 1}; COMMIT`);
  }
}
