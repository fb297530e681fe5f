import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '@wherry/testing/eventually.ts';
import { groupMemory, killGroup, untilGroupEnded } from './process-group.ts';
import { groupMembers } from '../testing/build-bench.ts';

describe('a process group', () => {
  it('B1: has ended when its last process has, though its leader was gone long before and no pipe is open', async () => {
    const leader = spawn('sh', ['-c', 'sleep 1000 & sleep 1000 & exit'], { detached: true, stdio: 'ignore' });
    const { pid = 0 } = leader;
    try {
      await once(leader, 'close');
      await eventually(() => expect(groupMembers(pid)).toHaveLength(2));
      expect(groupMemory([pid])).toBeGreaterThan(0);
      let hasEnded = false;
      const ended = untilGroupEnded(pid).then(() => (hasEnded = true));
      const [first = 0, last = 0] = groupMembers(pid);
      process.kill(first, 'SIGKILL');
      await eventually(() => expect(groupMembers(pid)).toEqual([last]));
      expect(hasEnded).toBe(false);
      killGroup(pid);
      await ended;
      expect(groupMembers(pid)).toEqual([]);
      expect(groupMemory([pid])).toBe(0);
    } finally {
      killGroup(pid);
    }
  });

  it('has ended at once where nobody has its id', async () => {
    const child = spawn('true', { detached: true });
    await once(child, 'close');
    await untilGroupEnded(child.pid ?? 0);
    expect(groupMembers(child.pid ?? 0)).toEqual([]);
  });
});
