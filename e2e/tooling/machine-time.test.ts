import { once } from 'node:events';
import { spawn, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { unhindered } from './machine-time.ts';

describe('the time that limits are measured in', () => {
  it.each([
    ['all of it, while nobody waits', 1000, 0, 1000],
    ['what is left, while somebody waits now and then', 1000, 400, 600],
    ['a tenth, while somebody waits all the time', 1000, 1000, 100],
    ['a tenth, where it is counted twice: for a core, and for the disk', 1000, 1900, 100],
  ])('is %s', (...[, wall, stalled, counted]) => {
    expect(unhindered(wall, stalled)).toBe(counted);
  });

  it('never goes faster than the clock, and slower where processes wait for a core', async () => {
    const burners: ChildProcess[] = [];
    try {
      for (let n = 0; n < 3 * availableParallelism(); n += 1)
        burners.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
      await Promise.all(burners.map((burner) => once(burner, 'spawn')));
      const [clock, machine] = [performance.now(), machineTime()];
      let last = machine;
      for (;;) {
        const [counted, wentBy] = [machineTime(), performance.now() - clock];
        expect(counted).toBeGreaterThanOrEqual(last);
        last = counted;
        expect(counted - machine).toBeLessThanOrEqual(wentBy);
        // However long it takes until all of them run.
        if (wentBy > 1000 && counted - machine < wentBy / 2) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      for (const burner of burners) burner.kill('SIGKILL');
    }
  });
});
