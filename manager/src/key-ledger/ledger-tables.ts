import type { DatabaseSync } from 'node:sqlite';
import type { KeyUses } from '@wherry/core/ports/key-ledger.ts';
import { transaction } from '@wherry/service/transaction.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS key_uses (
    key TEXT PRIMARY KEY,
    used_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/** The tables of the key ledger, beside the log entries: a row a key. Synchronous, as node:sqlite is. */
export class LedgerTables {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    database.exec(SCHEMA);
  }

  uses(): KeyUses {
    const rows = this.#database.prepare('SELECT key, used_at AS usedAt FROM key_uses').all() as {
      key: string;
      usedAt: number;
    }[];
    return Object.fromEntries(rows.map(({ key, usedAt }) => [key, usedAt]));
  }

  /** @param gone keys that no longer exist. */
  saveUses(uses: KeyUses, gone: readonly string[]): void {
    const save = this.#database.prepare('INSERT OR REPLACE INTO key_uses (key, used_at) VALUES (?, ?)');
    const remove = this.#database.prepare('DELETE FROM key_uses WHERE key = ?');
    transaction(this.#database, () => {
      for (const key of gone) remove.run(key);
      for (const [key, usedAt] of Object.entries(uses)) save.run(key, usedAt);
    });
  }
}
