import type { DatabaseSync } from 'node:sqlite';

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
/** JSON's escapes of characters that end a word; the backslash's own first. */
const SEARCHED_ARGS = String.raw`
  replace(replace(replace(replace(COALESCE(new.args, ''), '\\', ' '), '\n', ' '), '\t', ' '), '\r', ' ')`;
const META = "'f' || replace(new.function_name, '-', 'ø') || ' l' || replace(new.level, '_', '')";
const INDEX_NEW = `INSERT INTO log_words (rowid, meta, message, args) VALUES (new.id, ${META}, new.message, ${SEARCHED_ARGS});`;
const WORDS = `
  CREATE VIRTUAL TABLE log_words USING fts5 (
    meta, message, args, content = '', contentless_delete = 1, tokenize = 'unicode61'
  );
  CREATE TRIGGER logs_inserted AFTER INSERT ON logs BEGIN ${INDEX_NEW} END;
  CREATE TRIGGER logs_deleted AFTER DELETE ON logs BEGIN DELETE FROM log_words WHERE rowid = old.id; END;
  ${INDEX_NEW.replace(/ VALUES \((.*)\);$/s, ' SELECT $1 FROM logs AS new;')}
`;

/** Creates what is missing; entries of before there was an index of words are put in it. */
export function prepareSchema(database: DatabaseSync): void {
  database.exec(SCHEMA);
  const hasWords = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'log_words'").get() !== undefined;
  if (!hasWords) database.exec(`BEGIN; ${WORDS} COMMIT;`);
}

/** The word of a function in `meta`. Two names may have the same, so that entries are compared as well. */
export const functionWord = (name: string): string => `f${name.replaceAll('-', 'ø')}`;
/** The word of a level in `meta`. */
export const levelWord = (level: string): string => `l${level.replaceAll('_', '')}`;
