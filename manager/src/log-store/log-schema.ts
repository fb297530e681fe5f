import type { DatabaseSync } from 'node:sqlite';
import { transaction } from '@wherry/service/transaction.ts';

/**
 * The indexes hold what filters look at beside their order, so that a page reads no row that is not in it. The index of
 * words has no text of its own: `meta` is the function and the level, each as one word, so that a common word of a rare
 * level is found as fast as a rare word.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    function_name TEXT NOT NULL,
    request_id TEXT NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    args TEXT,
    sequence INTEGER NOT NULL,
    timestamp REAL NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS logs_by_time ON logs (timestamp, sequence, id);
  CREATE INDEX IF NOT EXISTS logs_by_request ON logs (request_id);
  DROP INDEX IF EXISTS logs_by_function;
  CREATE INDEX IF NOT EXISTS logs_of_function ON logs (function_name, timestamp, sequence, id, level);
  CREATE INDEX IF NOT EXISTS logs_of_level ON logs (level, timestamp, sequence, id);
`;
/**
 * Spans are blocks of ids with their oldest and newest time, so that a search, which goes back by id, begins and ends
 * where its times are: ids grow with time, but not strictly.
 */
const SPAN_IDS = 1024;
/** Adds the times of the entries with greater ids than one. */
export const SPAN_AFTER = `
  INSERT INTO log_spans (block, oldest, newest)
  SELECT id / ${SPAN_IDS}, MIN(timestamp), MAX(timestamp) FROM logs WHERE id > ? GROUP BY 1
  ON CONFLICT (block) DO UPDATE SET oldest = MIN(oldest, excluded.oldest), newest = MAX(newest, excluded.newest)`;
const SPANS = 'CREATE TABLE log_spans (block INTEGER PRIMARY KEY, oldest REAL NOT NULL, newest REAL NOT NULL) STRICT;';
/** JSON's escapes of characters that end a word; the backslash's own first. */
const SEARCHED_ARGS = String.raw`
  replace(replace(replace(replace(COALESCE(args, ''), '\\', ' '), '\n', ' '), '\t', ' '), '\r', ' ')`;
const META = "'f' || replace(function_name, '-', 'ø') || ' l' || replace(level, '_', '')";
/** Adds the words of the entries with greater ids than one. */
export const INDEX_AFTER = `
  INSERT INTO log_words (rowid, meta, message, args)
  SELECT id, ${META}, message, ${SEARCHED_ARGS} FROM logs WHERE id > ?`;
const WORDS = `
  CREATE VIRTUAL TABLE log_words USING fts5 (
    meta, message, args, content = '', contentless_delete = 1, tokenize = 'unicode61'
  );
  CREATE TRIGGER logs_deleted AFTER DELETE ON logs BEGIN DELETE FROM log_words WHERE rowid = old.id; END;
`;
/** What `LogWriter` does instead. */
const FORMER_TRIGGERS = 'DROP TRIGGER IF EXISTS logs_spanned; DROP TRIGGER IF EXISTS logs_inserted;';

/** Creates what is missing, also for the entries that there are. */
export function prepareSchema(database: DatabaseSync): void {
  database.exec(SCHEMA + FORMER_TRIGGERS);
  const added = { log_words: [WORDS, INDEX_AFTER], log_spans: [SPANS, SPAN_AFTER] } as const;
  for (const [table, [create, fill]] of Object.entries(added)) {
    if (database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined) continue;
    transaction(database, () => {
      database.exec(create);
      database.prepare(fill).run(0);
    });
  }
}

/** The first and the last id that an entry of these times may have; undefined where there is no such entry. */
export function idsBetween(
  database: DatabaseSync,
  since: number,
  until: number,
): { first: number; last: number } | undefined {
  const block = (sql: string, time: number): number | undefined =>
    database.prepare(`SELECT block FROM log_spans WHERE ${sql} LIMIT 1`).get(time)?.block as number | undefined;
  const first = block('newest >= ? ORDER BY block', since);
  const last = block('oldest < ? ORDER BY block DESC', until);
  if (first === undefined || last === undefined || first > last) return undefined;
  return { first: first * SPAN_IDS, last: (last + 1) * SPAN_IDS - 1 };
}

/** Removes the spans of which no entry is left. */
export function removeEmptySpans(database: DatabaseSync): void {
  database.exec(`DELETE FROM log_spans WHERE NOT EXISTS (
    SELECT 1 FROM logs WHERE id BETWEEN block * ${SPAN_IDS} AND (block + 1) * ${SPAN_IDS} - 1)`);
}

/** The word of a function in `meta`. Two names may have the same, so that entries are compared as well. */
export const functionWord = (name: string): string => `f${name.replaceAll('-', 'ø')}`;
/** The word of a level in `meta`. */
export const levelWord = (level: string): string => `l${level.replaceAll('_', '')}`;
