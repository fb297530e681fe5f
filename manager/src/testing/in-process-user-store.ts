import { UserDatabase } from '../users/user-database.ts';
import { UserStore } from '../users/user-store.ts';

/** The real tables of users, in memory and without a thread: a test file opens many. */
export function inProcessUserStore(database = new UserDatabase(':memory:')): UserStore {
  return new UserStore(
    { write: async (changes) => database.write(changes), close: async () => database.close() },
    database.load(),
  );
}
