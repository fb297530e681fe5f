/** The thread that owns `audit.db`. */
import { workerData } from 'node:worker_threads';
import { openOrSetAside } from '../sqlite-thread/open-or-set-aside.ts';
import { serveDatabase, type ServedDatabase } from '../sqlite-thread/serve-database.ts';
import { AuditDatabase } from './audit-database.ts';
import type { AuditOperation, AuditWorkerData } from './audit-messages.ts';

function run(database: AuditDatabase, operation: AuditOperation): unknown {
  switch (operation.operation) {
    case 'append':
      database.append(operation.records);
      return null;
    case 'query':
      return database.query(operation.query);
    case 'trim':
      return database.trim(operation.oldest, operation.limit);
  }
}

serveDatabase((): ServedDatabase<AuditOperation> => {
  const { file, aside } = workerData as AuditWorkerData;
  const { database, setAside } = openOrSetAside(file, () => new AuditDatabase(file), aside);
  return { setAside, run: (operation) => run(database, operation), close: () => database.close() };
});
