import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { logEntry } from '@wherry/testing/log-entry.ts';
import { LogDatabase } from './log-database.ts';

const BATCH = 50;
const MAX_BYTES = 1024 * 1024;

describe('a log database that is full', () => {
  let directory: string;
  let database: LogDatabase;
  let written = 0;
  const write = (functionName: string, count: number): void => {
    const entries = Array.from({ length: count }, () => logEntry({ functionName, timestamp: (written += 1) }));
    database.write(entries);
  };
  const kept = (functionName: string): number[] =>
    database.query({ functionName, limit: 100_000 }).map(({ timestamp }) => timestamp);

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'wherry-log-size-'));
    database = new LogDatabase(path.join(directory, 'logs.db'), { maxPerFunction: 1_000_000, maxBytes: MAX_BYTES });
  });
  afterEach(async () => {
    database.close();
    await rm(directory, { recursive: true });
  });

  it('M10: removes a few entries with each write, the oldest of the function with the most', () => {
    write('quiet', BATCH);
    let before = 0;
    let most = 0;
    let removed = 0;
    for (let batch = 0; batch < 200; batch += 1) {
      write('chatty', BATCH);
      const now = kept('chatty');
      expect(now).toEqual(now.map((_, index) => written - index));
      most = Math.max(most, before + BATCH - now.length);
      removed += before + BATCH - now.length;
      before = now.length;
    }
    expect(removed).toBeGreaterThan(1000);
    expect(most).toBeLessThanOrEqual(2 * BATCH);
    expect(kept('quiet')).toHaveLength(BATCH);
  });
});
