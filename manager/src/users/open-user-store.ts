import type { Logger } from '@wherry/core/ports/logger.ts';
import { StartError } from '@wherry/service/start-error.ts';
import type { DatabaseThread, ThreadDatabase } from '../sqlite-thread/database-thread.ts';
import type { UserOpening, UserOperation } from './user-messages.ts';
import type { UserData } from './user-record.ts';
import { UserStore } from './user-store.ts';

interface UserStoreOptions {
  /** Path of the database. */
  file: string;
  thread: DatabaseThread;
  logger: Logger;
}

/**
 * Opens users and sessions, in a file of their own.
 * @throws StartError when the database cannot be opened, or is damaged: without it nobody may become the first user.
 */
export async function openUserStore({ file, thread, logger }: UserStoreOptions): Promise<UserStore> {
  const opening: UserOpening = { file };
  let database: ThreadDatabase<UserOperation> | undefined;
  try {
    database = await thread.open<UserOperation>('users', opening, {
      name: 'user',
      logger,
      consequence: 'nobody can sign in or out until the program is restarted',
    });
    return await loadUsers(database);
  } catch (error) {
    await database?.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The user database ${file} cannot be opened (${reason}): restore the file from a backup, or move it away to start without users.`,
      error,
    );
  }
}

async function loadUsers(database: ThreadDatabase<UserOperation>): Promise<UserStore> {
  const data = (await database.call({ operation: 'load' })) as UserData;
  return new UserStore(
    {
      write: async (changes) => void (await database.call({ operation: 'write', changes })),
      close: () => database.close(),
    },
    data,
  );
}
