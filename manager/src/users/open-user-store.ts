import { Worker } from 'node:worker_threads';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { DatabaseThread } from '../sqlite-thread/database-thread.ts';
import type { UserOperation, UserWorkerData } from './user-messages.ts';
import type { UserData } from './user-record.ts';
import { UserStore } from './user-store.ts';

interface UserStoreOptions {
  /** Path of the database. */
  file: string;
  logger: Logger;
}

/**
 * Opens users and sessions, in a file and a worker thread of their own.
 * @throws StartError when the database cannot be opened, or is damaged: without it nobody may become the first user.
 */
export async function openUserStore({ file, logger }: UserStoreOptions): Promise<UserStore> {
  const workerData: UserWorkerData = { file };
  const worker = new Worker(new URL('./user-worker.ts', import.meta.url), { workerData, name: 'users' });
  const thread = new DatabaseThread<UserOperation>(worker, {
    name: 'user',
    logger,
    consequence: 'nobody can sign in or out until the program is restarted',
  });
  try {
    await thread.ready;
    const data = (await thread.call({ operation: 'load' })) as UserData;
    return new UserStore(
      {
        write: async (changes) => void (await thread.call({ operation: 'write', changes })),
        close: () => thread.close(),
      },
      data,
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The users ${file} cannot be opened (${reason}): restore the file from a backup, or move it away to start without users.`,
      error,
    );
  }
}
