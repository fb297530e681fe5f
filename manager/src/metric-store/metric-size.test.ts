import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DurationSketch } from '@wherry/service/duration-sketch.ts';
import { MetricDatabase } from './metric-database.ts';
import { metricBytesOfFunction } from './metric-size.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const HOUR_US = 3_600_000_000;
const DAYS = 90;
const NOW = 20_000 * DAY_MS;

/** Of a million calls of each duration that a sketch distinguishes, more than a router handles in a day. */
function widestBins(): number[] {
  const sketch = new DurationSketch();
  for (let us = 1; us <= HOUR_US; us *= 1.01) sketch.add(us);
  return sketch.bins().map((value, index) => (index % 2 === 0 ? value : 999_999));
}

describe('metricBytesOfFunction', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'wherry-metric-size-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is more than the file grows by with a function of calls of all durations, also before a trim', () => {
    const file = path.join(folder, 'metrics.db');
    const database = new MetricDatabase(file);
    const bins = widestBins();
    let sequence = 0;
    const record = (minute: number): void => {
      const metrics = [{ functionName: 'f', minute, count: 1, errors: 1, sumUs: 1e12, maxUs: HOUR_US, bins }];
      database.record({ sender: 'router', sequence: (sequence += 1), metrics }, NOW);
    };
    for (let day = DAYS; day > 0; day -= 1) record(NOW - day * DAY_MS);
    const sketches = NOW - 2 * DAY_MS;
    const periods = { minutes: NOW, hours: NOW, days: 0 };
    while (database.trim({ periods, sketches, senders: 0, limit: 2000 }));
    for (let hour = 24; hour > 0; hour -= 1) record(NOW - hour * HOUR_MS);
    while (database.trim({ periods: { ...periods, hours: 0 }, sketches, senders: 0, limit: 2000 }));
    for (let minute = 0; minute < 120; minute += 1) record(NOW + minute * MINUTE_MS);
    database.close();
    // It has the same rows again for all functions together.
    const bytes = statSync(file).size / 2;
    expect(bytes).toBeLessThan(metricBytesOfFunction(DAYS));
    expect(bytes).toBeGreaterThan(metricBytesOfFunction(DAYS) * 0.8);
  });
});
