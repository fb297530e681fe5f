import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, sep } from 'node:path';
import { ApiClient, eventually, send } from '../testing/api-client.ts';
import { startService, type Service } from '../testing/embedded-service.ts';
import { descendants, stillRunning, type Process } from '../testing/processes.ts';

/*
 * `npm start` under a service manager, which knows one process and sends it a signal. The script is the one of
 * package.json, in a folder of the test that has the program beside it.
 */

const ROOT = join(import.meta.dirname, '../..');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { start: string } };
const SLOW =
  'export default async (c) => { await new Promise((resolve) => setTimeout(resolve, 2000)); return c.text("whole"); };';
/** Without our own Node: npm runs by the machine's, as a person runs it. */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((entry) => !entry.includes(`${sep}node_modules${sep}`))
  .join(delimiter);

let folder: string;
/** npm and all that it has started. */
let processes: Process[];

beforeEach(async () => {
  processes = [];
  folder = await mkdtemp(join(tmpdir(), 'wherry-npm-start-'));
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'wherry', type: 'module', scripts: { start: scripts.start } }),
  );
  for (const name of ['embedded', 'node_modules']) await symlink(join(ROOT, name), join(folder, name));
});

afterEach(async () => {
  for (const { pid } of stillRunning(processes)) process.kill(pid, 'SIGKILL');
  await rm(folder, { recursive: true, force: true });
}, 30_000);

/** `npm start`, with a function that answers `/slow` after two seconds. */
async function npmStart(): Promise<Service> {
  const service = await startService({
    command: { program: 'npm', args: ['start'], folder },
    dataDirectory: join(folder, 'data'),
    environment: { PATH },
    detached: true,
  });
  processes = [
    ...descendants(service.process.pid!),
    ...descendants(process.pid).filter(({ pid }) => pid === service.process.pid),
  ];
  const api = new ApiClient(service.managementUrl, service.managementKey!);
  await api.source('some', { 'slow.js': SLOW });
  await api.readyFunction({ name: 'slow', handler: 'some/slow.js', route: '/slow' });
  processes.push(...descendants(service.process.pid!));
  return service;
}

const nodeOf = (): number =>
  (JSON.parse(readFileSync(join(folder, 'data/wherry.lock'), 'utf8')) as { pid: number }).pid;
const startedBy = (pid: number): number => processes.find(({ parent }) => parent === pid)!.pid;

describe('npm start', () => {
  it.each<[string, (npm: number) => unknown]>([
    ['SIGTERM to npm', (npm) => process.kill(npm, 'SIGTERM')],
    ['SIGTERM to what npm started, which is where its shell was', (npm) => process.kill(startedBy(npm), 'SIGTERM')],
    ['SIGTERM to Node', () => process.kill(nodeOf(), 'SIGTERM')],
    ['SIGINT to npm', (npm) => process.kill(npm, 'SIGINT')],
    ['Ctrl-C, which the whole process group gets, and Node from npm once more', (npm) => process.kill(-npm, 'SIGINT')],
  ])(
    'by %s finishes running calls, leaves nothing behind, and gives exit code 0',
    async (_how, signal) => {
      const service = await npmStart();
      const running = send(`${service.functionUrl}/run/slow`);
      const api = new ApiClient(service.managementUrl, service.managementKey!);
      await eventually(async () =>
        expect(JSON.stringify((await api.expect('GET', '/api/logs?level=exec_start')).body)).toContain('/slow'),
      );
      signal(service.process.pid!);
      const { status, text } = await running;
      expect([status, text]).toEqual([200, 'whole']);
      expect(await service.exited).toBe(0);
      expect(stillRunning(processes)).toEqual([]);
      expect(existsSync(join(folder, 'data/wherry.lock'))).toBe(false);
    },
    60_000,
  );
});
