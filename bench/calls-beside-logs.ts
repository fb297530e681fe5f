/**
 * How much later calls are answered while other functions print 21,000 log entries a second, which are all stored: the
 * p99 of a steady load in windows with and without them, in pairs. Run: npm run bench -- calls-beside-logs [pairs, 9
 * when omitted] [entries a second, 21000 when omitted]
 */
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ApiClient, eventually, send } from '@wherry/e2e/testing/api-client.ts';
import { startService } from '@wherry/e2e/testing/embedded-service.ts';
import { openLoop } from './lib/open-loop.ts';
import { median, quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';
import { measurePair, PAIR_HEADING, pairCells, type WindowPairs } from './lib/window-pairs.ts';

const [PAIRS, ENTRIES_PER_SECOND] = [Number(process.argv[2] ?? 9), Number(process.argv[3] ?? 21_000)];
/** Beyond 1,024 a second, the entries of a function are counted, not kept. */
const PRINTERS = Math.ceil(ENTRIES_PER_SECOND / 1000);
const CALLS_PER_SECOND = 100;
const WINDOW_SECONDS = 4;
const EVERY_MS = 50;
const LINES = Math.round((ENTRIES_PER_SECOND / PRINTERS / 1000) * EVERY_MS);
const PRINTER = `
export default async (c, ctx) => {
  const rounds = Number(ctx.query.seconds) * ${1000 / EVERY_MS};
  const began = performance.now();
  for (let round = 0; round < rounds; round++) {
    for (let line = 0; line < ${LINES}; line++) console.log('payment for order failed upstream', { order: round * ${LINES} + line });
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + (round + 1) * ${EVERY_MS} - performance.now())));
  }
  return c.text('printed');
};`;

const service = await startService();
try {
  const api = new ApiClient(service.managementUrl, service.managementKey ?? '');
  await api.expect('PUT', '/api/settings', { settings: { 'log.trimming.max-per-function': '100000' } });
  await api.source('bench', { 'printer.js': PRINTER, 'good.js': `export default (c) => c.text('good');` });
  await api.readyFunction({ name: 'Good', handler: 'bench/good.js', route: '/good' });
  for (let n = 0; n < PRINTERS; n += 1)
    await api.readyFunction({ name: `Printer ${n}`, handler: 'bench/printer.js', route: `/printer-${n}` });

  const failures: string[] = [];
  const calls = async (): Promise<number> => {
    const url = `${service.functionUrl}/run/good`;
    const report = await openLoop({ url, perSecond: CALLS_PER_SECOND, seconds: WINDOW_SECONDS });
    failures.push(...report.failures);
    return quantile(report.milliseconds, 0.99);
  };
  const print = async (seconds: number): Promise<void> => {
    const urls = Array.from(
      { length: PRINTERS },
      (_, n) => `${service.functionUrl}/run/printer-${n}?seconds=${seconds}`,
    );
    for (const { status } of await Promise.all(urls.map((url) => send(url))))
      if (status !== 200) failures.push(`a printer answered ${status}`);
  };
  const database = new DatabaseSync(path.join(service.dataDirectory, 'telemetry.db'), { readOnly: true });
  const stored = (): number =>
    Number(database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'logs'").get()?.['seq']);
  const rates: number[] = [];
  const callsBesideLogs = async (): Promise<number> => {
    // It prints before the window begins and until it has ended.
    const printing = print(WINDOW_SECONDS + 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const [before, began] = [stored(), performance.now()];
    const p99 = await calls();
    rates.push(((stored() - before) / (performance.now() - began)) * 1000);
    await printing;
    // The next window begins when all of it is stored.
    await eventually(async () => {
      const last = stored();
      await new Promise((resolve) => setTimeout(resolve, 500));
      if (stored() !== last) throw new Error('log entries are still being stored');
    }, 60_000);
    return p99;
  };
  const metricsUrl = /^ {2}Metrics:\s+(\S+)$/m.exec(service.output())?.[1] ?? '';
  const lost = async (): Promise<number> =>
    [
      ...(await send(metricsUrl)).text.matchAll(
        /^wherry_(?:log_entries_lost|telemetry_dropped)_total(?:\{.*\})? (\d+)$/gm,
      ),
    ].reduce((sum, [, count]) => sum + Number(count), 0);

  // Code is compiled and caches are filled.
  await Promise.all([calls(), print(WINDOW_SECONDS)]);
  const load = (): string => rounded(loadavg()[0] ?? 0, 1);
  console.log(
    `Node ${process.versions.node}, ${availableParallelism()} cores, load ${load()}, ${PAIRS} pairs; ${CALLS_PER_SECOND} calls a second for ${WINDOW_SECONDS} s; ${PRINTERS} functions print ${ENTRIES_PER_SECOND} entries a second`,
  );
  const pairs: WindowPairs = { calm: [], disturbed: [] };
  for (let turn = 0; turn < PAIRS; turn += 1)
    await measurePair(pairs, turn, { calm: calls, disturbed: callsBesideLogs });
  database.close();
  console.log(`load at the end ${load()}\n`);
  const heading = [...PAIR_HEADING, 'stored a second', 'lost', 'failed calls'];
  console.log(
    table([heading, [...pairCells(pairs), rounded(median(rates)), String(await lost()), String(failures.length)]]),
  );
  console.log('\nGoals: a ratio of at most 1.1, at least 20,000 stored a second, nothing lost, no failed call.');
  for (const failure of new Set(failures)) console.log(failure);
} finally {
  await service.dispose();
}
