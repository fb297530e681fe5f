/**
 * How long after a handler has printed a line the API shows it, and whether answers wait for their logs: the same calls
 * while another program locks the log database, so that nothing can be stored. Run: npm run bench -- log-delay [calls,
 * 300 when omitted]
 */
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ApiClient, send } from '@wherry/e2e/testing/api-client.ts';
import { startService } from '@wherry/e2e/testing/embedded-service.ts';
import { quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';

const CALLS = Number(process.argv[2] ?? 300);
/** The service waits five seconds for the lock, then gives entries up. */
const LOCKED_MS = 3000;
const HANDLER = `
export default (c) => {
  console.log(String(performance.timeOrigin + performance.now()));
  return c.text('printed');
};`;

interface Entry {
  level: string;
  message: string;
}

const now = (): number => performance.timeOrigin + performance.now();
const rowOf = (name: string, ms: number[], goal = ''): string[] => [
  name,
  String(ms.length),
  ...[0.5, 0.9, 0.99, 1].map((share) => rounded(quantile(ms, share), 1)),
  goal,
];

const service = await startService();
try {
  const api = new ApiClient(service.managementUrl, service.managementKey ?? '');
  await api.source('bench', { 'prints.js': HANDLER });
  await api.readyFunction({ name: 'Prints', handler: 'bench/prints.js', route: '/prints' });
  const call = async (): Promise<{ ms: number; requestId: string }> => {
    const sent = performance.now();
    const { status, headers } = await send(`${service.functionUrl}/run/prints`);
    if (status !== 200) throw new Error(`a call was answered with ${status}`);
    return { ms: performance.now() - sent, requestId: headers.get('x-request-id') ?? '' };
  };
  /** Milliseconds from the print to the answer that has its entry, and to the one that has the end of the call. */
  const shown = async (requestId: string): Promise<{ printed: number; ended: number }> => {
    let printed: number | undefined;
    for (;;) {
      const { logs } = (await api.expect('GET', `/api/logs?requestId=${requestId}`)).body.data as { logs: Entry[] };
      const at = now();
      const entry = logs.find(({ level }) => level === 'log');
      if (entry !== undefined) printed ??= at - Number(entry.message);
      if (printed !== undefined && logs.some(({ level }) => level === 'exec_end'))
        return { printed, ended: at - Number(entry?.message) };
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };

  const callFor = async (ms: number): Promise<{ answers: number[]; requestIds: string[] }> => {
    const [answers, requestIds]: [number[], string[]] = [[], []];
    for (const end = performance.now() + ms; performance.now() < end && answers.length < CALLS;) {
      const made = await call();
      answers.push(made.ms);
      requestIds.push(made.requestId);
    }
    return { answers, requestIds };
  };

  for (let warm = 0; warm < 20; warm += 1) await shown((await call()).requestId);
  const load = (): string => rounded(loadavg()[0] ?? 0, 1);
  console.log(`Node ${process.versions.node}, ${availableParallelism()} cores, load ${load()}; ${CALLS} calls`);
  const delays: { printed: number; ended: number }[] = [];
  for (let made = 0; made < CALLS; made += 1) delays.push(await shown((await call()).requestId));
  const free = await callFor(LOCKED_MS);
  const database = new DatabaseSync(path.join(service.dataDirectory, 'telemetry.db'));
  database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  const locked = await callFor(LOCKED_MS);
  database.exec('ROLLBACK');
  database.close();
  for (const requestId of locked.requestIds) await shown(requestId);
  console.log(`load at the end ${load()}\n`);
  console.log(
    table([
      ['milliseconds', 'calls', 'p50', 'p90', 'p99', 'max', 'goal'],
      rowOf(
        'from the print to a GET that shows it',
        delays.map(({ printed }) => printed),
        'max 250',
      ),
      rowOf(
        'from the print to a GET that shows the end of the call',
        delays.map(({ ended }) => ended),
      ),
      rowOf('answers of calls one after the other', free.answers),
      rowOf('the same while the log database is locked', locked.answers, 'the same'),
    ]),
  );
  console.log('\nEntries of the last calls were shown once the database was free.');
} finally {
  await service.dispose();
}
