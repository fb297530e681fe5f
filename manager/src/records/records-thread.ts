import { Worker } from 'node:worker_threads';
import { DatabaseThread } from '../sqlite-thread/database-thread.ts';

/**
 * Starts the thread of the databases of audit records, metrics and users. The logs of functions, which may be many, have
 * another: they never delay a change, which waits for its audit record.
 */
export function startRecordsThread(): DatabaseThread {
  return new DatabaseThread(new Worker(new URL('./records-worker.ts', import.meta.url), { name: 'records' }));
}
