import { spawnSync } from 'node:child_process';
import { cpuSeconds, inStat } from './cpu-time.ts';

it('is that of a process and of the children that it has reaped, whatever its program is called', () => {
  expect(inStat('7 (a) S 1 (b) R 1 7 7 0 -1 4194304 90 80 0 0 150 25 10 5 20 0 1 0 99 0 0')).toBe(1.9);
});

it('grows by what a child has used when that has ended', () => {
  const before = cpuSeconds();
  const child = spawnSync(process.execPath, [
    '-e',
    'while (process.cpuUsage().user < 2e5) for (let i = 0; i < 1e6; i++); console.log(process.cpuUsage().user / 1e6)',
  ]);
  expect(cpuSeconds() - before).toBeGreaterThan(Number(child.stdout) - 0.1);
});
