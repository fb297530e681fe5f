/**
 * S3: how much later the calls of one function are answered while another one keeps failing: the p99 of a steady load
 * in windows with and without each fault, in pairs. The row without a fault shows how much two windows differ on this
 * machine anyway. Run: npm run bench -- failing-neighbour [rounds, 5 when omitted]
 */
import { availableParallelism, loadavg } from 'node:os';
import { ApiClient, eventually, send } from '@wherry/e2e/testing/api-client.ts';
import { startService, type Service } from '@wherry/e2e/testing/embedded-service.ts';
import { FATAL_HANDLER, fatalQuery, type FatalDeed } from '@wherry/e2e/testing/fatal-handler.ts';
import { descendants } from '@wherry/e2e/testing/processes.ts';
import { openLoop } from './lib/open-loop.ts';
import { quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';
import { measurePair, PAIR_HEADING, pairCells, type WindowPairs } from './lib/window-pairs.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const PER_SECOND = 100;
/** An endless loop is ended after 4.5 s: for a whole window the fault is there. */
const WINDOW_SECONDS = 4;
const REST_MS = 500;
const FAULTS: (FatalDeed | undefined)[] = [
  undefined,
  'an endless loop',
  'a heap that grows',
  'buffers that grow',
  'process.exit',
  'a throw in a timer',
  'an unhandled rejection',
];

interface Windows extends WindowPairs {
  failures: string[];
  /** Calls that made the other function fail, whatever they had for an answer. */
  provoked: number;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const routers = ({ process: { pid = 0 } }: Service): number[] =>
  descendants(pid).flatMap((child) => (child.command.includes('router/src/main.ts') ? [child.pid] : []));

async function calmWindow(service: Service, windows: Windows): Promise<number> {
  const { milliseconds, failures } = await openLoop({
    url: `${service.functionUrl}/run/good`,
    perSecond: PER_SECOND,
    seconds: WINDOW_SECONDS,
  });
  windows.failures.push(...failures);
  return quantile(milliseconds, 0.99);
}

/** The same, while the other function is made to fail as often as it is there; it is well again afterwards. */
async function faultyWindow(service: Service, windows: Windows, fault: FatalDeed | undefined): Promise<number> {
  const url = `${service.functionUrl}/run/bad`;
  const ending = new AbortController();
  const provoke = async (): Promise<void> => {
    while (fault !== undefined && !ending.signal.aborted) {
      await send(url + fatalQuery(fault)).catch(() => undefined);
      windows.provoked++;
    }
  };
  const provoking = provoke();
  const p99 = await calmWindow(service, windows);
  ending.abort();
  await provoking;
  await eventually(async () => {
    if ((await send(url)).status !== 200) throw new Error('the function that failed is not well again');
  }, 60_000);
  await pause(REST_MS);
  return p99;
}

async function round(service: Service, all: Map<FatalDeed | undefined, Windows>, turn: number): Promise<void> {
  for (const [fault, windows] of all)
    await measurePair(windows, turn, {
      calm: () => calmWindow(service, windows),
      disturbed: () => faultyWindow(service, windows, fault),
    });
}

function rowOf([fault, windows]: [FatalDeed | undefined, Windows]): string[] {
  return [fault ?? 'none', ...pairCells(windows), String(windows.provoked), String(windows.failures.length)];
}

const service = await startService();
try {
  const api = new ApiClient(service.managementUrl, service.managementKey ?? '');
  await api.source('bench', { 'bad.js': FATAL_HANDLER, 'good.js': `export default (c) => c.text('good');` });
  await api.readyFunction({ name: 'Bad', handler: 'bench/bad.js', route: '/bad', timeoutSeconds: 3 });
  await api.readyFunction({ name: 'Good', handler: 'bench/good.js', route: '/good' });
  const all = new Map(
    FAULTS.map((fault): [typeof fault, Windows] => [fault, { calm: [], disturbed: [], failures: [], provoked: 0 }]),
  );
  const before = routers(service);
  // Code is compiled and caches are filled.
  await openLoop({ url: `${service.functionUrl}/run/good`, perSecond: PER_SECOND, seconds: WINDOW_SECONDS });
  const load = (): string => rounded(loadavg()[0] ?? 0, 1);
  console.log(
    `Node ${process.versions.node}, ${availableParallelism()} cores, load ${load()}, ${ROUNDS} rounds, interleaved; ${PER_SECOND} calls a second for ${WINDOW_SECONDS} s`,
  );
  for (let turn = 0; turn < ROUNDS; turn++) await round(service, all, turn);
  console.log(`load at the end ${load()}\n`);
  const heading = ['what the other function does', ...PAIR_HEADING, 'calls to it', 'failed calls'];
  console.log(
    `${table([heading, ...[...all].map(rowOf)])}\n\nGoals: a ratio of at most 1.2, no failed call, the same router.`,
  );
  console.log(`Router: pid ${before.join()} before, ${routers(service).join()} after.`);
  for (const [fault, { failures }] of all)
    for (const failure of new Set(failures)) console.log(`${fault ?? 'none'}: ${failure}`);
} finally {
  await service.dispose();
}
