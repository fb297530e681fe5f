import { DatabaseSync } from 'node:sqlite';
import { logEntry } from '@wherry/testing/log-entry.ts';
import { queryLogs } from './log-queries.ts';
import { idsBetween, prepareSchema, removeEmptySpans } from './log-schema.ts';
import { LogWriter } from './log-writer.ts';
import type { LogQuery } from './telemetry-store.ts';

const COUNT = 4000;

describe('a search of log entries by words and time', () => {
  let database: DatabaseSync;
  let writer: LogWriter;
  const insert = (timestamps: number[]): void => {
    writer.insert(timestamps.map((timestamp) => ({ ...logEntry(), message: 'common', timestamp })));
  };
  const found = (query: Partial<LogQuery>): number[] =>
    queryLogs(database, { words: ['common'], limit: COUNT, ...query }).map(({ timestamp }) => timestamp);

  beforeEach(() => {
    database = new DatabaseSync(':memory:');
    prepareSchema(database);
    writer = new LogWriter(database);
    insert(Array.from({ length: COUNT }, (_, index) => index));
  });
  afterEach(() => database.close());

  it('finds exactly the entries of that time', () => {
    expect(found({ since: 1500, until: 1503 })).toEqual([1502, 1501, 1500]);
    expect(found({ since: COUNT })).toEqual([]);
    expect(found({ until: 0 })).toEqual([]);
    expect(found({ until: 1503, afterId: 1502 })).toHaveLength(1501);
  });

  it('finds entries that arrive late or early', () => {
    insert([5, COUNT + 5000, 6]);
    expect(found({ since: 5, until: 7 })).toEqual([6, 5, 6, 5]);
    expect(found({ since: COUNT })).toEqual([COUNT + 5000]);
  });

  it('looks at no entry whose id is outside the time', () => {
    expect(idsBetween(database, 1500, 1503)).toEqual({ first: 1024, last: 2047 });
    expect(idsBetween(database, COUNT, Infinity)).toBeUndefined();
    expect(idsBetween(database, -Infinity, 0)).toBeUndefined();
    // An entry that would match, where the spans say that there is none.
    database.exec('UPDATE logs SET timestamp = 1501 WHERE id IN (10, 3000)');
    expect(found({ since: 1500, until: 1503 })).toEqual([1502, 1501, 1500]);
  });

  it('forgets the times of entries that are gone, and no others', () => {
    database.exec('DELETE FROM logs WHERE id BETWEEN 100 AND 2100');
    removeEmptySpans(database);
    expect(database.prepare('SELECT block FROM log_spans').all()).toEqual([{ block: 0 }, { block: 2 }, { block: 3 }]);
  });

  it('knows the times of entries of before there were spans', () => {
    database.exec('DROP TABLE log_spans');
    prepareSchema(database);
    expect(found({ since: 1500, until: 1502 })).toEqual([1501, 1500]);
  });

  it('takes over from the triggers of an earlier version', () => {
    for (const name of ['logs_inserted', 'logs_spanned'])
      database.exec(`CREATE TRIGGER ${name} AFTER INSERT ON logs BEGIN SELECT RAISE(ABORT, '${name} is there'); END`);
    prepareSchema(database);
    insert([COUNT]);
    expect(found({ since: COUNT })).toEqual([COUNT]);
  });

  it('writes the words of a batch as one segment of the index, which nothing has to merge', () => {
    const segments = (): number => database.prepare('SELECT DISTINCT segid FROM log_words_idx').all().length;
    expect(segments()).toBe(1);
    insert([1, 2, 3]);
    expect(segments()).toBe(2);
  });
});
