/** The thread that owns `users.db`. */
import { closeSync, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { serveDatabase, type ServedDatabase } from '../sqlite-thread/serve-database.ts';
import { UserDatabase } from './user-database.ts';
import type { UserOperation, UserWorkerData } from './user-messages.ts';

function run(database: UserDatabase, operation: UserOperation): unknown {
  switch (operation.operation) {
    case 'load':
      return database.load();
    case 'write':
      database.write(operation.changes);
      return null;
  }
}

serveDatabase((): ServedDatabase<UserOperation> => {
  const { file } = workerData as UserWorkerData;
  // Before SQLite creates it: its -wal and -shm take the same mode.
  closeSync(openSync(file, 'a', 0o600));
  // A damaged file is not set aside: an empty one would hand the service to whoever creates the first user.
  const database = new UserDatabase(file);
  return { setAside: undefined, run: (operation) => run(database, operation), close: () => database.close() };
});
