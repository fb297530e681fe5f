/**
 * What 1,000 listeners of `GET /api/events` cost the service: its memory before, with them, and after a burst of changes
 * that a tenth of them does not read; and how late the events reach those that do. On `npm start` with data of its own.
 * Run: npm run bench -- event-listeners [listeners, 1000 when omitted]
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort, npmStart } from './lib/npm-start.ts';
import { memoryOfTree } from './lib/process-memory.ts';
import { median, quantile, rounded } from './lib/statistics.ts';
import { table } from './lib/table.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const LISTENERS = Number(process.argv[2] ?? 1000);
/** The port bounds the connections of one address. */
const PER_ADDRESS = 200;
const CHANGES = 300;
const STALLED_SHARE = 10;
const KEY = 'bench-management-key';
const GOAL_MIB = 100;
/** Until then a process does not count as idle. */
const IDLE_MS = 10_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Listener {
  socket: Socket;
  stalls: boolean;
  /** Bytes of the answer's head are in it too. */
  tail: string;
}

async function listen(port: number, index: number): Promise<Listener> {
  const localAddress = `127.0.0.${2 + Math.floor(index / PER_ADDRESS)}`;
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  const listener: Listener = { socket, stalls: index % STALLED_SHARE === 0, tail: '' };
  await once(socket, 'connect');
  socket.write(`GET /api/events HTTP/1.1\r\nHost: bench\r\nX-API-Key: ${KEY}\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  if (!first.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(first.toString('latin1'));
  if (listener.stalls) socket.pause();
  else socket.on('data', (chunk: Buffer) => (listener.tail = (listener.tail + chunk.toString('latin1')).slice(-4096)));
  return listener;
}

interface Service {
  api: (method: string, target: string, body?: object) => Promise<unknown>;
  /** MiB of the process that serves the API. */
  memory: () => number;
  listen: (index: number) => Promise<Listener>;
}

/** Runs the work beside `npm start` with data of its own. */
async function withService(work: (service: Service) => Promise<void>): Promise<void> {
  const data = await mkdtemp(path.join(tmpdir(), 'wherry-bench-events-'));
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const environment = {
    WHERRY_DATA_DIR: data,
    FUNCTION_PORT: String(await freePort()),
    MANAGEMENT_PORT: String(port),
    OPS_PORT: '0',
    WHERRY_MANAGEMENT_KEY: KEY,
  };
  const npm = npmStart({ folder: ROOT, environment });
  const headers = { 'x-api-key': KEY, 'content-type': 'application/json' };
  try {
    while (!(await fetch(`${base}/api/settings`, { headers }).catch(() => undefined))?.ok) await pause(50);
    await work({
      async api(method, target, body) {
        const answer = await fetch(base + target, { method, headers, ...(body && { body: JSON.stringify(body) }) });
        if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${await answer.text()}`);
        return answer.json();
      },
      memory: () => memoryOfTree(npm.pid).reduce((sum, { role, pss }) => (role === 'service' ? sum + pss : sum), 0),
      listen: (index) => listen(port, index),
    });
  } finally {
    await npm.stop();
    await rm(data, { recursive: true, force: true });
  }
}

/** @returns how long after each change the last of those that read had it, in milliseconds. */
async function change(id: string, listeners: Listener[], { api }: Service): Promise<number[]> {
  const readers = listeners.filter(({ stalls }) => !stalls);
  const late: number[] = [];
  for (let number = 0; number < CHANGES; number += 1) {
    const begun = performance.now();
    const mark = `"${listeners.length}-${number}"`;
    await api('PUT', `/api/key-groups/${id}`, { description: mark.slice(1, -1) });
    while (!readers.every(({ tail }) => tail.includes(mark))) await pause(1);
    late.push(performance.now() - begun);
  }
  return late;
}

await withService(async (service) => {
  const { api, memory } = service;
  const { id } = (await api('POST', '/api/key-groups', { name: 'bench' })) as { id: string };
  const listeners: Listener[] = [];
  try {
    // What changes cost without anybody who listens.
    await change(id, listeners, service);
    await pause(IDLE_MS);
    const before = memory();
    for (let index = 0; index < LISTENERS; index += 1) listeners.push(await service.listen(index));
    await pause(IDLE_MS);
    const idle = memory();
    const late = await change(id, listeners, service);
    await pause(IDLE_MS);
    const busy = memory();
    const row = (name: string, mebibytes: number): string[] => [
      name,
      rounded(mebibytes),
      rounded(mebibytes - before),
      `<= ${GOAL_MIB}`,
    ];
    console.log(
      table([
        ['memory of the service, MiB (PSS)', 'all', 'more than before', 'goal'],
        ['before any listener', rounded(before), '', ''],
        row(`${LISTENERS} listeners`, idle),
        row(`after ${CHANGES} changes, of which 1 in ${STALLED_SHARE} reads nothing`, busy),
      ]),
    );
    const times = [median(late), quantile(late, 0.95), Math.max(...late)].map((ms) => rounded(ms));
    console.log(
      table([
        ['PUT → all that read have it, ms', 'median', 'p95', 'max'],
        [`${LISTENERS} listeners`, ...times],
      ]),
    );
  } finally {
    for (const { socket } of listeners) socket.destroy();
  }
});
