/** The thread of the log database alone: it may be busy for long. */
import { openOrSetAside } from '../sqlite-thread/open-or-set-aside.ts';
import { served, serveDatabases, type ServedDatabase } from '../sqlite-thread/serve-databases.ts';
import { LogDatabase } from './log-database.ts';
import type { TelemetryOperation, TelemetryOpening } from './telemetry-messages.ts';

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

function serveLogs({ file, ...bounds }: TelemetryOpening): ServedDatabase<TelemetryOperation> {
  // Lost logs must not keep functions from being served.
  const { database, setAside } = openOrSetAside(file, () => new LogDatabase(file, bounds));
  return served(database, run, setAside);
}

serveDatabases({ logs: serveLogs });
