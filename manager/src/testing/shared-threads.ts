import { Worker } from 'node:worker_threads';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { startRecordsThread } from '../records/records-thread.ts';
import { DatabaseThread } from '../sqlite-thread/database-thread.ts';

interface SharedThreads {
  logs: DatabaseThread;
  records: DatabaseThread;
}

let threads: Promise<SharedThreads> | undefined;

/**
 * The database threads of all test managers of this process: each has databases of its own in them. There are hundreds of
 * managers, and to start two threads takes longer than most of their tests.
 */
export function sharedThreads(): Promise<SharedThreads> {
  return (threads ??= start());
}

async function start(): Promise<SharedThreads> {
  const logs = new DatabaseThread(new Worker(new URL('../log-store/telemetry-worker.ts', import.meta.url)));
  const records = startRecordsThread();
  // A thread ends with its last database: these stay open.
  const options = { name: 'test', logger: new FakeLogger(), consequence: 'the tests of managers fail' };
  await logs.open('logs', { file: ':memory:', maxPerFunction: 1, maxBytes: 1024 * 1024 }, options);
  await records.open('metrics', { file: ':memory:' }, options);
  return { logs, records };
}
