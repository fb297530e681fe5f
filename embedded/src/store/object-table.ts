import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import type { Change } from '@wherry/core/store-rules/transitions.ts';

/** The schema by version; a released one is never edited, only followed by another. */
export const MIGRATIONS = [
  `CREATE TABLE objects (
     kind TEXT NOT NULL,
     namespace TEXT NOT NULL,
     name TEXT NOT NULL,
     uid TEXT NOT NULL,
     resource_version INTEGER NOT NULL,
     body TEXT NOT NULL,
     PRIMARY KEY (kind, namespace, name)
   ) STRICT;
   CREATE TABLE changes (
     resource_version INTEGER PRIMARY KEY,
     kind TEXT NOT NULL,
     namespace TEXT NOT NULL,
     type TEXT NOT NULL CHECK (type IN ('added', 'modified', 'deleted')),
     body TEXT NOT NULL
   ) STRICT;
   CREATE INDEX changes_by_kind ON changes (kind, namespace, resource_version)`,
];

/** How many changes a watch reads at once. */
const BATCH = 256;

/**
 * The statements over one namespace's objects and the log of their changes. The log always contains the newest change,
 * which therefore is the counter of resourceVersions; they start at 1, the version of an empty store.
 */
export class ObjectTable {
  readonly #namespace: string;
  readonly #history: number;
  readonly #statements: Record<'get' | 'list' | 'put' | 'remove' | 'log' | 'trim' | 'bounds' | 'after', StatementSync>;

  /** `history`: how many changes the log keeps. */
  constructor(database: DatabaseSync, { namespace, history }: { namespace: string; history: number }) {
    this.#namespace = namespace;
    this.#history = history;
    this.#statements = {
      get: database.prepare('SELECT body FROM objects WHERE kind = ? AND namespace = ? AND name = ?'),
      list: database.prepare('SELECT body FROM objects WHERE kind = ? AND namespace = ? ORDER BY name'),
      put: database.prepare(
        `INSERT INTO objects (kind, namespace, name, uid, resource_version, body) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET uid = excluded.uid, resource_version = excluded.resource_version, body = excluded.body`,
      ),
      remove: database.prepare('DELETE FROM objects WHERE kind = ? AND namespace = ? AND name = ?'),
      log: database.prepare(
        'INSERT INTO changes (resource_version, kind, namespace, type, body) VALUES (?, ?, ?, ?, ?)',
      ),
      trim: database.prepare('DELETE FROM changes WHERE resource_version <= ?'),
      bounds: database.prepare(
        `SELECT coalesce((SELECT min(resource_version) FROM changes) - 1, 1) AS oldest,
                coalesce((SELECT max(resource_version) FROM changes), 1) AS newest`,
      ),
      after: database.prepare(
        `SELECT type, body FROM changes WHERE kind = ? AND namespace = ? AND resource_version > ?
         ORDER BY resource_version LIMIT ${BATCH}`,
      ),
    };
  }

  get<K extends Kind>(kind: K, name: string): Resource<K> | undefined {
    const row = this.#statements.get.get(kind, this.#namespace, name);
    return row === undefined ? undefined : parse(row);
  }

  /** By name. */
  list<K extends Kind>(kind: K): Resource<K>[] {
    return this.#statements.list.all(kind, this.#namespace).map((row) => parse<K>(row));
  }

  /** Writes the change down; to be called within a transaction. */
  apply({ type, object }: Change): void {
    const { kind, metadata } = object;
    const version = Number(metadata.resourceVersion);
    const body = JSON.stringify(object);
    if (type === 'deleted') this.#statements.remove.run(kind, this.#namespace, metadata.name);
    else this.#statements.put.run(kind, this.#namespace, metadata.name, metadata.uid, version, body);
    this.#statements.log.run(version, kind, this.#namespace, type, body);
    this.#statements.trim.run(version - this.#history);
  }

  /** The newest resourceVersion, and the oldest one after which the log is complete. */
  bounds(): { oldest: number; newest: number } {
    const row = this.#statements.bounds.get();
    return { oldest: Number(row?.['oldest']), newest: Number(row?.['newest']) };
  }

  /** The next changes of a kind, in order. */
  after<K extends Kind>(kind: K, resourceVersion: number): Change<K>[] {
    const rows = this.#statements.after.all(kind, this.#namespace, resourceVersion);
    return rows.map((row) => ({ type: row['type'] as Change['type'], object: parse<K>(row) }));
  }
}

function parse<K extends Kind>(row: Record<string, unknown>): Resource<K> {
  return JSON.parse(row['body'] as string) as Resource<K>;
}
