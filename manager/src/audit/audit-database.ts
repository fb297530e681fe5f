import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { transaction } from '@wherry/service/transaction.ts';
import { where } from '../sqlite-thread/where.ts';
import type { AuditRecord, StoredAuditRecord } from './audit-record.ts';
import type { AuditQuery } from './audit-store.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp REAL NOT NULL,
    actor_type TEXT NOT NULL,
    actor_id TEXT,
    actor_name TEXT NOT NULL,
    action TEXT NOT NULL,
    object_kind TEXT NOT NULL,
    object_id TEXT,
    object_name TEXT,
    result TEXT NOT NULL,
    request_id TEXT,
    client_address TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS audit_by_time ON audit (timestamp);
  CREATE INDEX IF NOT EXISTS audit_by_object ON audit (object_id, id);
  CREATE TRIGGER IF NOT EXISTS audit_is_append_only BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'audit records are append-only'); END;
`;
const COLUMNS =
  'timestamp, actor_type, actor_id, actor_name, action, object_kind, object_id, object_name, result, request_id, client_address';

interface Row {
  id: number;
  timestamp: number;
  actor_type: AuditRecord['actor']['type'];
  actor_id: string | null;
  actor_name: string;
  action: string;
  object_kind: string;
  object_id: string | null;
  object_name: string | null;
  result: AuditRecord['result'];
  request_id: string | null;
  client_address: string | null;
}

/** The table of audit records. Synchronous, as node:sqlite is, so it runs in a worker thread. */
export class AuditDatabase {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;

  /** @param file path, or `:memory:`. */
  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    try {
      // FULL: acknowledged records are on the disk, even if the process is killed or the machine loses power.
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;');
      this.#database.exec(SCHEMA);
      this.#insert = this.#database.prepare(`INSERT INTO audit (${COLUMNS}) VALUES (${COLUMNS.replace(/\w+/g, '?')})`);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** Adds all records or none. */
  append(records: readonly AuditRecord[]): void {
    transaction(this.#database, () => {
      for (const { timestamp, actor, action, object, result, requestId, clientAddress } of records) {
        this.#insert.run(
          timestamp,
          actor.type,
          actor.id,
          actor.name,
          action,
          object.kind,
          object.id,
          object.name,
          result,
          requestId,
          clientAddress,
        );
      }
    });
  }

  query(query: AuditQuery): StoredAuditRecord[] {
    const { clause, values } = filterOf(query);
    const rows = this.#database
      .prepare(`SELECT id, ${COLUMNS} FROM audit ${clause} ORDER BY id DESC LIMIT ?`)
      .all(...values, query.limit);
    return (rows as unknown as Row[]).map(recordOf);
  }

  /**
   * Removes records that are older.
   * @param oldest milliseconds since 1970 UTC.
   * @param limit how many at most, so that nothing waits long.
   * @returns how many were removed.
   */
  trim(oldest: number, limit: number): number {
    const old = this.#database.prepare(
      'DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE timestamp < ? LIMIT ?)',
    );
    return Number(old.run(oldest, limit).changes);
  }

  close(): void {
    this.#database.close();
  }
}

function recordOf(row: Row): StoredAuditRecord {
  return {
    id: row.id,
    timestamp: row.timestamp,
    actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
    action: row.action,
    object: { kind: row.object_kind, id: row.object_id, name: row.object_name },
    result: row.result,
    requestId: row.request_id,
    clientAddress: row.client_address,
  };
}

function filterOf({ actor, action, objectId, since, until, before }: AuditQuery): ReturnType<typeof where> {
  return where(
    ['(actor_id = ? OR actor_name = ?)', actor, actor],
    ['action = ?', action],
    ['object_id = ?', objectId],
    ['timestamp >= ?', since],
    ['timestamp < ?', until],
    ['id < ?', before],
  );
}
