import { openOrSetAside } from '../sqlite-thread/open-or-set-aside.ts';
import { served, type ServedDatabase } from '../sqlite-thread/serve-databases.ts';
import { AuditDatabase } from './audit-database.ts';
import type { AuditOperation, AuditOpening } from './audit-messages.ts';

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

/** In its thread. */
export function serveAudit({ file, aside }: AuditOpening): ServedDatabase<AuditOperation> {
  const { database, setAside } = openOrSetAside(file, () => new AuditDatabase(file), aside);
  return served(database, run, setAside);
}
