/**
 * A log database of a million entries: how fast they are written, and how long a page of each kind takes, newest page and
 * a page far back. Run: npm run bench -- log-store [entries, 1000000 when omitted]
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { openTelemetryStore } from '@wherry/manager/log-store/open-telemetry-store.ts';
import type { LogQuery, StoredLogEntry, TelemetryStore } from '@wherry/manager/log-store/telemetry-store.ts';
import type { LogEntry, LogLevel } from '@wherry/core/ports/telemetry.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { median, quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';

const ENTRIES = Number(process.argv[2] ?? 1_000_000);
const FUNCTIONS = 600;
/** Entries that are handed over at once; the queue in front of the database holds 50,000. */
const AT_ONCE = 10_000;
const ROUNDS = 31;
const GOALS = { perSecond: 20_000, pageMs: 50 };
const LEVELS: LogLevel[] = ['exec_start', 'log', 'info', 'log', 'exec_end'];
const WORDS =
  'order user payment failed request upstream timeout connection cache miss hit retry queue handler started finished'.split(
    ' ',
  );

/** The same numbers in each run. */
function generator(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
const random = generator();

function entryOf(index: number): LogEntry {
  const call = Math.floor(index / LEVELS.length);
  const level = index % 9973 === 0 ? 'error' : (LEVELS[index % LEVELS.length] ?? 'log');
  const words = Array.from({ length: 8 }, () => WORDS[random(WORDS.length)]).join(' ');
  return {
    functionName: `function-${call % FUNCTIONS}`,
    requestId: `00000000-0000-4000-8000-${String(call).padStart(12, '0')}`,
    level,
    message: index === 1234 ? `${words} needle` : `${words} ${random(1_000_000)}`,
    args: level === 'exec_end' ? null : `[{"orderId":${random(1_000_000)},"total":${random(1000)}}]`,
    sequence: index % LEVELS.length,
    timestamp: 1_700_000_000_000 + index,
  };
}

/** @returns entries a second, and of the slowest tenth of the batches. */
async function ingest(store: TelemetryStore): Promise<{ perSecond: number; slowest: number }> {
  const seconds: number[] = [];
  for (let at = 0; at < ENTRIES; at += AT_ONCE) {
    const entries = Array.from({ length: Math.min(AT_ONCE, ENTRIES - at) }, (_, index) => entryOf(at + index));
    const begun = performance.now();
    store.write(entries);
    await store.newest();
    seconds.push((performance.now() - begun) / 1000);
  }
  const total = seconds.reduce((sum, one) => sum + one, 0);
  return { perSecond: ENTRIES / total, slowest: AT_ONCE / quantile(seconds, 0.9) };
}

async function time(store: TelemetryStore, query: LogQuery): Promise<{ ms: number[]; last: StoredLogEntry[] }> {
  const ms: number[] = [];
  let last: StoredLogEntry[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    last = await store.query(query);
    ms.push(performance.now() - begun);
  }
  return { ms, last };
}

async function pages(store: TelemetryStore): Promise<string[][]> {
  const limit = 51;
  const middle = 1_700_000_000_000 + ENTRIES / 2;
  const after = { timestamp: middle, sequence: 0, id: ENTRIES / 2 };
  const kinds: [name: string, query: LogQuery][] = [
    ['all functions, newest', { limit }],
    ['all functions, by a cursor far back', { limit, after }],
    ['one function', { limit, functionName: 'function-7' }],
    ['one function, by a cursor far back', { limit, functionName: 'function-7', after }],
    ['one function, a rare level', { limit, functionName: 'function-7', levels: ['error'] }],
    ['a rare level', { limit, levels: ['error'] }],
    ['two levels, by a cursor far back', { limit, levels: ['error', 'info'], after }],
    ['a time far back', { limit, until: middle }],
    ['one call', { limit, requestId: '00000000-0000-4000-8000-000000001000' }],
    ['a common word', { limit, words: ['payment'] }],
    ['a common word, by a cursor far back', { limit, words: ['payment'], afterId: ENTRIES / 2 }],
    ['two common words', { limit, words: ['payment', 'timeout'] }],
    ['a rare word, the oldest', { limit, words: ['needle'] }],
    ['a word that is not there', { limit, words: ['nowhere'] }],
    ['a common word of one function', { limit, words: ['payment'], functionName: 'function-7' }],
    ['a common word of a rare level', { limit, words: ['payment'], levels: ['error'] }],
    ['a common word of a time far back', { limit, words: ['payment'], until: middle }],
  ];
  const rows: string[][] = [];
  for (const [name, query] of kinds) {
    const { ms, last } = await time(store, query);
    const met = median(ms) < GOALS.pageMs ? 'yes' : 'NO';
    rows.push([name, String(last.length), rounded(median(ms), 2), rounded(quantile(ms, 0.99), 2), met]);
  }
  return rows;
}

const directory = await mkdtemp(path.join(tmpdir(), 'wherry-bench-logs-'));
try {
  const file = path.join(directory, 'telemetry.db');
  const logger = createLogger({ name: 'bench', level: 'warn' });
  const store = await openTelemetryStore({ file, maxBytes: 4 * 1024 ** 3, clock: systemClock, logger });
  store.retain({ maxPerFunction: 100_000, retentionSeconds: 0, intervalSeconds: 86_400 });
  console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}; ${ENTRIES} entries\n`);
  const before = process.cpuUsage();
  const { perSecond, slowest } = await ingest(store);
  const { user, system } = process.cpuUsage(before);
  const bytes = (await stat(file)).size;
  console.log(
    table([
      ['ingest', 'entries/s', 'goal', 'met'],
      ['sustained', rounded(perSecond), `>= ${GOALS.perSecond}`, perSecond >= GOALS.perSecond ? 'yes' : 'NO'],
      ['slowest tenth of the batches', rounded(slowest), '', ''],
      // With other load on the machine, the rate says little.
      ['by the CPU time that it took', rounded((ENTRIES / (user + system)) * 1_000_000), '', ''],
    ]),
  );
  console.log(`\nlost: ${store.dropped()}; bytes of an entry in the file: ${rounded(bytes / ENTRIES)}\n`);
  console.log(
    table([['page of 50', 'entries', 'median ms', 'p99 ms', `< ${GOALS.pageMs} ms`], ...(await pages(store))]),
  );
  await store.close();
} finally {
  await rm(directory, { recursive: true });
}
