import { closeSync, openSync } from 'node:fs';
import { served, type ServedDatabase } from '../sqlite-thread/serve-databases.ts';
import { UserDatabase } from './user-database.ts';
import type { UserOperation, UserOpening } from './user-messages.ts';

function run(database: UserDatabase, operation: UserOperation): unknown {
  switch (operation.operation) {
    case 'load':
      return database.load();
    case 'write':
      database.write(operation.changes);
      return null;
  }
}

/** In its thread. */
export function serveUsers({ file }: UserOpening): ServedDatabase<UserOperation> {
  // Before SQLite creates it: its -wal and -shm take the same mode.
  closeSync(openSync(file, 'a', 0o600));
  // A damaged file is not set aside: an empty one would hand the service to whoever creates the first user.
  return served(new UserDatabase(file), run);
}
