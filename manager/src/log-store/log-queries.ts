import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { where } from '../sqlite-thread/where.ts';
import { functionWord, idsBetween, levelWord } from './log-schema.ts';
import type { FollowedLogs, FollowQuery, LogQuery, StoredLogEntry } from './telemetry-store.ts';

/** The index of words has columns of some of these names too. */
const COLUMNS =
  'logs.id, function_name AS functionName, request_id AS requestId, level, logs.message, logs.args, sequence, timestamp';
const NEWEST_FIRST = 'ORDER BY timestamp DESC, sequence DESC, id DESC';
/** Entries that one look for new ones reads: a listener to a rare function keeps nobody waiting. */
const LOOKED_AT = 5000;

type Condition = readonly [text: string, ...values: (SQLInputValue | undefined)[]] | undefined;

/** Entries newest first, or, where words are searched for, the last to arrive first. */
export function queryLogs(database: DatabaseSync, query: LogQuery): StoredLogEntry[] {
  return query.words === undefined ? byTime(database, query) : byWords(database, query, query.words);
}

/** Entries that arrived after another, in the order in which they did, and up to which one was looked. */
export function followLogs(database: DatabaseSync, query: FollowQuery): FollowedLogs {
  const newest = newestId(database);
  // The database has been set aside and another one begun: all of it is new.
  const after = query.after > newest ? 0 : query.after;
  const until = Math.min(newest, after + LOOKED_AT);
  const { clause, values } = where(['id > ?', after], ['id <= ?', until], ...filters(query));
  const sql = `SELECT ${COLUMNS} FROM logs NOT INDEXED ${clause} ORDER BY id LIMIT ?`;
  const entries = database.prepare(sql).all(...values, query.limit) as unknown as StoredLogEntry[];
  const lookedAt = entries.length < query.limit ? until : (entries.at(-1)?.id ?? until);
  return { entries, lookedAt, hasMore: lookedAt < newest };
}

/** The id of the last entry that was ever written; 0 of none. */
export function newestId(database: DatabaseSync): number {
  const row = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'logs'").get();
  return Number(row?.seq ?? 0);
}

function byTime(database: DatabaseSync, query: LogQuery): StoredLogEntry[] {
  const { functionName, requestId, levels, since, until, after } = query;
  const bounds: Condition[] = [
    ['timestamp >= ?', since],
    ['timestamp < ?', until],
    ['(timestamp, sequence, id) < (?, ?, ?)', after?.timestamp, after?.sequence, after?.id],
  ];
  // Each list is in the order of its index, so that none reads more than a page; SQLite would sort all of them.
  const lists =
    functionName === undefined && requestId === undefined && levels !== undefined
      ? levels.map((level) => pageOf('logs_of_level', [['level = ?', level], ...bounds], query.limit))
      : [pageOf(indexFor(query), [...filters(query), ['request_id = ?', requestId], ...bounds], query.limit)];
  const sql = lists.map((list) => `SELECT * FROM (${list.sql})`).join(' UNION ALL ');
  return database
    .prepare(`${sql} ${NEWEST_FIRST} LIMIT ?`)
    .all(...lists.flatMap(({ values }) => values), query.limit) as unknown as StoredLogEntry[];
}

function indexFor({ functionName, requestId }: LogQuery): string {
  if (requestId !== undefined) return 'logs_by_request';
  return functionName === undefined ? 'logs_by_time' : 'logs_of_function';
}

function pageOf(index: string, conditions: Condition[], limit: number): { sql: string; values: SQLInputValue[] } {
  const { clause, values } = where(...conditions);
  const sql = `SELECT ${COLUMNS} FROM logs INDEXED BY ${index} ${clause} ${NEWEST_FIRST} LIMIT ?`;
  return { sql, values: [...values, limit] };
}

function filters({ functionName, levels }: Pick<LogQuery, 'functionName' | 'levels'>): Condition[] {
  return [['function_name = ?', functionName], levels && [`level IN (${levels.map(() => '?').join(', ')})`, ...levels]];
}

function byWords(database: DatabaseSync, query: LogQuery, words: readonly string[]): StoredLogEntry[] {
  const { requestId, since, until, afterId } = query;
  const ids = idsBetween(database, since ?? -Infinity, until ?? Infinity);
  if (ids === undefined) return [];
  const { clause, values } = where(
    ['log_words MATCH ?', matchOf(query, words)],
    // Numbers of JavaScript are bound as REAL, by which the index of words would not begin or end.
    ['log_words.rowid < CAST(? AS INTEGER)', afterId],
    ['log_words.rowid >= CAST(? AS INTEGER)', since === undefined ? undefined : ids.first],
    ['log_words.rowid <= CAST(? AS INTEGER)', until === undefined ? undefined : ids.last],
    // Few entries have the id: only those near them are looked at.
    ['log_words.rowid >= (SELECT COALESCE(MIN(id), 0) FROM logs WHERE request_id = ?)', requestId],
    ['log_words.rowid <= (SELECT COALESCE(MAX(id), 0) FROM logs WHERE request_id = ?)', requestId],
    ['request_id = ?', requestId],
    ['timestamp >= ?', since],
    ['timestamp < ?', until],
    ...filters(query),
  );
  const sql = `SELECT ${COLUMNS} FROM log_words CROSS JOIN logs ON logs.id = log_words.rowid ${clause}
    ORDER BY log_words.rowid DESC LIMIT ?`;
  return database.prepare(sql).all(...values, query.limit) as unknown as StoredLogEntry[];
}

/** FTS5's own language; in quotes nothing but a quote has a meaning. */
function matchOf({ functionName, levels }: LogQuery, words: readonly string[]): string {
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  return [
    ...(functionName === undefined ? [] : [`meta : ${quoted(functionWord(functionName))}`]),
    ...(levels === undefined ? [] : [`meta : (${levels.map((level) => quoted(levelWord(level))).join(' OR ')})`]),
    `{message args} : (${words.map(quoted).join(' AND ')})`,
  ].join(' AND ');
}
