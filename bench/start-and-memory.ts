/**
 * How long `npm start` takes until an existing function answers, how much memory the idle processes of the service use,
 * and how long an edit takes until its answer is seen. Beside it, in the same run, `npm start` of a bare `node:http`
 * server. Run: npm run bench -- start-and-memory [rounds, 7 when omitted]
 */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, send } from '@wherry/e2e/testing/api-client.ts';
import { freePort, npmStart, type NpmStart } from './lib/npm-start.ts';
import { handler, handlerPath, prepareData, type PreparedData } from './lib/prepared-data.ts';
import { memoryOfTree, type ProcessMemory } from './lib/process-memory.ts';
import { median, quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const ROUNDS = Number(process.argv[2] ?? 7);
const FIRST_STARTS = 3;
const MANY = 20;
const EDITS = 30;
/** People do not edit faster, and until then used spares are replaced. */
const BETWEEN_EDITS_MS = 500;
/** Until this long after the start, or after the last call, a process does not count as idle. */
const IDLE_AFTER_MS = 5000;
const CALLS_OF_USED = 200;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const startWherry = ({ environment }: PreparedData): NpmStart => npmStart({ folder: ROOT, environment });

/** A package whose `start` is one line of `node:http`, on the same Node. */
async function bareServer(): Promise<{ folder: string; environment: Record<string, string>; url: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wherry-bench-bare-'));
  const port = await freePort();
  await writeFile(
    path.join(folder, 'package.json'),
    JSON.stringify({ name: 'bare', type: 'module', scripts: { start: 'node server.js' } }),
  );
  await writeFile(
    path.join(folder, 'server.js'),
    `import { createServer } from 'node:http';\ncreateServer((_, response) => response.end('hello')).listen(${port}, '127.0.0.1');\n`,
  );
  await mkdir(path.join(folder, 'node_modules/.bin'), { recursive: true });
  await symlink(process.execPath, path.join(folder, 'node_modules/.bin/node'));
  return { folder, environment: {}, url: `http://127.0.0.1:${port}/` };
}

/** Milliseconds until the last function answers, and until each of them did. */
async function timeStart(data: PreparedData): Promise<{ first: number; all: number }> {
  const npm = startWherry(data);
  try {
    const first = await npm.answered(data.urls.at(-1) ?? '');
    let all = first;
    for (const url of data.urls) all = await npm.answered(url);
    return { first, all };
  } finally {
    await npm.stop();
  }
}

/** As after `npm ci`, on data that another machine left: no compiled code, no bundle of the runtime. */
async function forgetCaches(data: PreparedData): Promise<void> {
  const caches = [path.join(ROOT, 'node_modules/.cache/wherry'), path.join(data.dataDirectory, 'cache')];
  await Promise.all(caches.map((folder) => rm(folder, { recursive: true, force: true })));
}

async function timeBare(bare: Awaited<ReturnType<typeof bareServer>>): Promise<number> {
  const npm = npmStart(bare);
  try {
    return await npm.answered(bare.url);
  } finally {
    await npm.stop();
  }
}

async function measureStarts(one: PreparedData, many: PreparedData): Promise<string> {
  const bare = await bareServer();
  // Whatever the state of the caches: this start fills them.
  await timeStart(one);
  const times = {
    bare: [] as number[],
    one: [] as number[],
    many: [] as number[],
    manyAll: [] as number[],
    cold: [] as number[],
  };
  for (let round = 0; round < ROUNDS; round++) {
    times.bare.push(await timeBare(bare));
    times.one.push((await timeStart(one)).first);
    const { first, all } = await timeStart(many);
    times.many.push(first);
    times.manyAll.push(all);
    if (round >= FIRST_STARTS) continue;
    await forgetCaches(one);
    times.cold.push((await timeStart(one)).first);
  }
  await rm(bare.folder, { recursive: true, force: true });
  const row = (name: string, samples: number[], goal = ''): string[] => [
    name,
    ...[median(samples), Math.min(...samples), Math.max(...samples)].map((ms) => rounded(ms)),
    rounded(median(samples) / median(times.bare), 2),
    goal,
  ];
  return table([
    ['npm start → first answer, ms', 'median', 'min', 'max', 'x bare', 'goal'],
    row('bare node:http server', times.bare),
    row('1 function', times.one, '<= 1500'),
    row(`${MANY} functions, one of them`, times.many, '<= 1500'),
    row(`${MANY} functions, all of them`, times.manyAll),
    row('1 function, nothing cached yet', times.cold),
  ]);
}

/**
 * The tree's processes once there are as many runtimes as functions and a spare, and all have been idle for a while.
 */
async function idleMemory(npm: NpmStart, functions: number): Promise<ProcessMemory[]> {
  await eventually(() => {
    const runtimes = memoryOfTree(npm.pid).filter(({ role }) => role === 'runtime').length;
    if (runtimes <= functions) throw new Error(`${runtimes} runtimes run, not ${functions} and a spare`);
  }, 30_000);
  await pause(IDLE_AFTER_MS);
  return memoryOfTree(npm.pid);
}

interface Memory {
  /** Of each process, its function never called since the start. */
  idle: ProcessMemory[];
  /** The same after calls of each function. */
  used: ProcessMemory[];
  instances: Set<number>;
}

async function measureMemory(data: PreparedData): Promise<Memory> {
  const npm = startWherry(data);
  try {
    const idle = await idleMemory(npm, data.urls.length);
    const instances = new Set<number>();
    for (const url of data.urls) {
      for (let call = 0; call < CALLS_OF_USED; call++) instances.add(Number((await send(url)).text.split(' ').at(-1)));
    }
    await pause(IDLE_AFTER_MS);
    return { idle, used: memoryOfTree(npm.pid), instances };
  } finally {
    await npm.stop();
  }
}

const sum = (processes: ProcessMemory[], of: 'pss' | 'own'): number =>
  processes.reduce((total, process) => total + process[of], 0);

function memoryTable(one: Memory, many: Memory): string {
  const columns = (pick: (memory: Memory) => ProcessMemory[], of: 'pss' | 'own' = 'pss'): string[] =>
    [one, many].map((memory) => rounded(median(pick(memory).map((process) => process[of])), 1));
  const role = (wanted: ProcessMemory['role']) => (memory: Memory) =>
    memory.idle.filter((process) => process.role === wanted);
  const instances = (state: 'idle' | 'used') => (memory: Memory) =>
    memory[state].filter(({ pid }) => memory.instances.has(pid));
  const spares = (memory: Memory): ProcessMemory[] =>
    role('runtime')(memory).filter(({ pid }) => !memory.instances.has(pid));
  const largest = [one, many].map((memory) => rounded(Math.max(...instances('idle')(memory).map(({ pss }) => pss)), 1));
  const perFunction = (of: 'pss' | 'own'): string => rounded((sum(many.idle, of) - sum(one.idle, of)) / (MANY - 1), 1);
  return table([
    ['Idle memory, MiB of PSS unless said', '1 function', `${MANY} functions`, 'goal'],
    ['an instance (median)', ...columns(instances('idle')), '<= 20, then 15'],
    ['an instance (largest)', ...largest, '<= 20'],
    ['an instance (median), memory of its own', ...columns(instances('idle'), 'own'), ''],
    [`an instance (median), after ${CALLS_OF_USED} calls`, ...columns(instances('used')), '<= 20'],
    ['one more function, of the whole tree', '', perFunction('pss'), '<= 20, then 15'],
    ['one more function, memory of its own', '', perFunction('own'), ''],
    ['the spare', ...columns(spares), ''],
    ['the router', ...columns(role('router')), ''],
    ['the service (operator, manager)', ...columns(role('service')), ''],
    ['npm and its shell', ...[one, many].map((memory) => rounded(sum(role('npm')(memory), 'pss'), 1)), ''],
    [
      'all without npm',
      ...[one, many].map((memory) =>
        rounded(
          sum(
            memory.idle.filter((process) => process.role !== 'npm'),
            'pss',
          ),
          1,
        ),
      ),
      '',
    ],
  ]);
}

/** One line of the handler is changed and uploaded; the function is called until it answers the new text. */
async function measureEdits(data: PreparedData): Promise<string> {
  const npm = startWherry(data);
  const url = data.urls[0] ?? '';
  const times: number[] = [];
  let failed = 0;
  try {
    await npm.answered(url);
    await eventually(() => data.api.expect('GET', '/api/functions'));
    for (let edit = -2; edit < EDITS; edit++) {
      await pause(BETWEEN_EDITS_MS);
      const since = performance.now();
      await data.api.upload(data.sourceId, handlerPath(0), handler(`edit ${edit}`));
      for (let answer = await send(url); !answer.text.startsWith(`edit ${edit} `); answer = await send(url))
        failed += answer.status === 200 ? 0 : 1;
      // The first two find no spare builder and no compiled code, which later edits do not.
      if (edit >= 0) times.push(performance.now() - since);
    }
  } finally {
    await npm.stop();
  }
  return table([
    ['Edit → new answer, ms', 'p50', 'p95', 'max', 'failed calls', 'goal'],
    [
      `${EDITS} edits of a function without packages`,
      rounded(median(times)),
      rounded(quantile(times, 0.95)),
      rounded(Math.max(...times)),
      String(failed),
      'p50 <= 150',
    ],
  ]);
}

const [one, many] = [await prepareData(1), await prepareData(MANY)];
try {
  console.log(
    `Node ${process.versions.node}, ${availableParallelism()} cores, load ${rounded(loadavg()[0] ?? 0, 1)}, ${ROUNDS} rounds, interleaved\n`,
  );
  console.log(`${await measureStarts(one, many)}\n`);
  console.log(`${memoryTable(await measureMemory(one), await measureMemory(many))}\n`);
  console.log(await measureEdits(one));
} finally {
  await Promise.all([one, many].map(({ dataDirectory }) => rm(dataDirectory, { recursive: true, force: true })));
}
