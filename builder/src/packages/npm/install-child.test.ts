import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import process from 'node:process';
import { eventually } from '@wherry/testing/eventually.ts';

const url = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

/** Stands for a service, which says which process it started, and in which folder. */
const SERVICE = `
import { startConfiguredChild } from ${url('install-child.ts')};
const logger = { warn: ({ stderr }) => process.stderr.write(stderr) };
const child = await startConfiguredChild({ registry: { url: 'http://127.0.0.1:1/' }, limits: { silenceMs: 1000, heapMiB: 512 }, logger });
child.channel.send({ type: 'resolve', id: 1, own: {}, root: { dependencies: { a: '1' } }, base: {} });
for await (const answer of child.channel.messages()) console.log(JSON.stringify({ pid: child.pid, folder: child.folder, answer }));
`;

describe('startConfiguredChild', () => {
  it('leaves no process and no folder when the service is killed', async () => {
    const service = spawn(process.execPath, ['--input-type=module', '-e', SERVICE], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(service.stdout, 'data')) as [Buffer];
    const { pid, folder, answer } = JSON.parse(line.toString()) as { pid: number; folder: string; answer: object };
    expect(answer).toMatchObject({ type: 'failed', reason: 'RegistryUnavailable' });
    expect(existsSync(folder)).toBe(true);
    service.kill('SIGKILL');
    await eventually(() => {
      expect(existsSync(folder)).toBe(false);
      expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    });
  });
});
