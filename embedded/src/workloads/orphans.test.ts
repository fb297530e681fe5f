import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { eventually } from '@wherry/testing/eventually.ts';
import { findSetpriv } from './find-setpriv.ts';
import { processBirth } from './process-table.ts';
import { sweepInstances } from './sweep-instances.ts';

const alive = (pid: number): boolean => processBirth(pid) !== undefined;

describe('when the service is killed with SIGKILL', () => {
  const directories: string[] = [];
  afterEach(async () => {
    for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
  });

  // Without setpriv a loop outlives the service, until the next start sweeps it away.
  it.each([['idle'], ...(findSetpriv() !== undefined ? [['loop']] : [])])('its instances end: %s', async (mode) => {
    const service = spawn(process.execPath, [path.join(import.meta.dirname, 'testing/service.ts'), mode], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { pid, directory } = await firstLine(service);
    directories.push(directory);
    expect(alive(pid)).toBe(true);
    service.kill('SIGKILL');
    await eventually(() => expect(alive(pid)).toBe(false), 3000);
    expect(await sweepInstances(directory)).toBe(0);
    expect(await readdir(directory)).toEqual([]);
  });
});

describe('sweepInstances', () => {
  let directory: string;
  let left: ChildProcess;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'wherry-test-'));
    await mkdir(path.join(directory, 'pids'));
    left = spawn('sleep', ['60'], { stdio: 'ignore' });
  });
  afterEach(async () => {
    left.kill('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  });
  const record = (pid: number, birth: string | undefined): Promise<void> =>
    writeFile(path.join(directory, 'pids', String(pid)), JSON.stringify({ pid, birth }));

  it('ends an instance that still runs, and takes its folder away', async () => {
    await record(left.pid!, processBirth(left.pid!));
    await mkdir(path.join(directory, 'i/abc/tmp'), { recursive: true });
    expect(await sweepInstances(directory)).toBe(1);
    expect(alive(left.pid!)).toBe(false);
    expect(await readdir(directory)).toEqual([]);
  });

  it('leaves a process alone that has got the pid since', async () => {
    await record(left.pid!, `${processBirth(left.pid!)}0`);
    expect(await sweepInstances(directory)).toBe(0);
    expect(alive(left.pid!)).toBe(true);
  });

  it('does not mind half a record, nor no directory', async () => {
    await writeFile(path.join(directory, 'pids', 'x'), '{"pid":1');
    expect(await sweepInstances(directory)).toBe(0);
    expect(await sweepInstances(path.join(directory, 'never-was'))).toBe(0);
  });
});

async function firstLine(service: ChildProcess): Promise<{ pid: number; directory: string }> {
  for await (const line of createInterface({ input: service.stdout! }))
    return JSON.parse(line) as { pid: number; directory: string };
  throw new Error('the service said nothing');
}
