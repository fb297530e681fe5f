import { openOrSetAside } from '../sqlite-thread/open-or-set-aside.ts';
import { served, type ServedDatabase } from '../sqlite-thread/serve-databases.ts';
import { MetricDatabase } from './metric-database.ts';
import type { MetricOperation, MetricOpening } from './metric-messages.ts';

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
      return database.trim(operation.trim);
  }
}

/** In its thread. */
export function serveMetrics({ file }: MetricOpening): ServedDatabase<MetricOperation> {
  const { database, setAside } = openOrSetAside(file, () => new MetricDatabase(file));
  return served(database, run, setAside);
}
