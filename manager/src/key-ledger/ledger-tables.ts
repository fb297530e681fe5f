import type { DatabaseSync } from 'node:sqlite';
import type { KeyUses, QuotaGrant, QuotaRequest } from '@wherry/core/ports/key-ledger.ts';
import { transaction } from '@wherry/service/transaction.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS key_uses (
    key TEXT PRIMARY KEY,
    used_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS quotas (
    holder TEXT PRIMARY KEY,
    day INTEGER NOT NULL,
    granted INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/** The tables of the key ledger, beside the log entries: a row a key. Synchronous, as node:sqlite is. */
export class LedgerTables {
  readonly #database: DatabaseSync;
  #cleanedDay = -1;

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

  /** Of a quota, the rows of earlier days are removed with the first grant of a day. */
  grant(requests: Record<string, QuotaRequest>, day: number, most: number): Record<string, QuotaGrant> {
    const read = this.#database.prepare('SELECT granted FROM quotas WHERE holder = ? AND day = ?');
    const write = this.#database.prepare('INSERT OR REPLACE INTO quotas (holder, day, granted) VALUES (?, ?, ?)');
    const grants: Record<string, QuotaGrant> = {};
    transaction(this.#database, () => {
      for (const [holder, request] of Object.entries(requests)) {
        const before = Number(read.get(holder, day)?.granted ?? 0);
        const after = grantOf(before, request, day, most);
        if (after.total !== before) write.run(holder, day, after.total);
        grants[holder] = { day, granted: after.granted, left: Math.max(0, request.daily - after.total) };
      }
      if (this.#cleanedDay !== day) this.#database.prepare('DELETE FROM quotas WHERE day < ?').run(day);
    });
    this.#cleanedDay = day;
    return grants;
  }
}

/** What a router returns or owes of another day is no part of this one. */
function grantOf(
  before: number,
  { daily, wanted, returned, owed, day: ofDay }: QuotaRequest,
  day: number,
  most: number,
): { total: number; granted: number } {
  const counted = ofDay === day ? Math.max(0, before - returned) + owed : before;
  const left = Math.max(0, daily - counted);
  const granted = Math.min(wanted, left, Math.max(1, Math.floor(left * most)));
  return { total: counted + granted, granted };
}
