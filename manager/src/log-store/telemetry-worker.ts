/** The thread that owns `telemetry.db`. */
import { workerData } from 'node:worker_threads';
import { openOrSetAside } from '../sqlite-thread/open-or-set-aside.ts';
import { serveDatabase, type ServedDatabase } from '../sqlite-thread/serve-database.ts';
import { LogDatabase } from './log-database.ts';
import type { TelemetryOperation, TelemetryWorkerData } from './telemetry-messages.ts';

function run(database: LogDatabase, operation: TelemetryOperation): unknown {
  switch (operation.operation) {
    case 'write':
      database.write(operation.entries);
      return null;
    case 'query':
      return database.query(operation.query);
    case 'knows':
      return database.knows(operation.functionName);
    case 'trim':
      return database.trim(operation.maxPerFunction, operation.oldest);
    case 'follow':
      return database.follow(operation.query);
    case 'newest':
      return database.newest();
    case 'delete':
      return database.deleteSome(operation.functionName, operation.until);
    case 'uses':
      return database.ledger.uses();
    case 'grant':
      return database.ledger.grant(operation.requests, operation.day, operation.most);
    case 'save-uses':
      database.ledger.saveUses(operation.uses, operation.gone);
      return null;
  }
}

serveDatabase((): ServedDatabase<TelemetryOperation> => {
  const { file, ...bounds } = workerData as TelemetryWorkerData;
  // Lost logs must not keep functions from being served.
  const { database, setAside } = openOrSetAside(file, () => new LogDatabase(file, bounds));
  return { setAside, run: (operation) => run(database, operation), close: () => database.close() };
});
