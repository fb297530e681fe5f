/** The thread that owns `metrics.db`. */
import { workerData } from 'node:worker_threads';
import { openOrSetAside } from '../sqlite-thread/open-or-set-aside.ts';
import { serveDatabase, type ServedDatabase } from '../sqlite-thread/serve-database.ts';
import { MetricDatabase } from './metric-database.ts';
import type { MetricOperation, MetricWorkerData } from './metric-messages.ts';

function run(database: MetricDatabase, operation: MetricOperation): unknown {
  switch (operation.operation) {
    case 'record':
      database.record(operation.batch, operation.now);
      return null;
    case 'query':
      return database.query(operation.query);
    case 'knows':
      return database.knows(operation.functionName);
    case 'trim':
      database.trim(operation.trim);
      return null;
  }
}

serveDatabase((): ServedDatabase<MetricOperation> => {
  const { file } = workerData as MetricWorkerData;
  const { database, setAside } = openOrSetAside(file, () => new MetricDatabase(file));
  return { setAside, run: (operation) => run(database, operation), close: () => database.close() };
});
