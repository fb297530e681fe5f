import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import { workloadsContract } from '../contracts/workloads-contract.ts';
import { FakeWorkloads } from './fake-workloads.ts';

const desired: DesiredWorkload = {
  name: 'hello-1',
  functionName: 'hello',
  functionUid: 'uid',
  revision: 'a'.repeat(64),
  template: { memoryMiB: 128, cpuMillis: null },
  replicas: 2,
  drainSeconds: 30,
};

describe('FakeWorkloads', () => {
  workloadsContract(async () => {
    const workloads = new FakeWorkloads({ automatic: true });
    const bad = 'b'.repeat(64);
    workloads.breakRevision(bad, { reason: 'LoadError', message: 'it throws' });
    return {
      workloads,
      goodRevision: async () => 'a'.repeat(64),
      badRevision: async () => bad,
      kill: async ({ id }) => workloads.kill(id),
      call: async ({ id }) => {
        const call = workloads.call(id);
        setTimeout(() => call.finish(), 5);
        return call;
      },
      stop: async () => undefined,
    };
  });

  describe("in a test's hands", () => {
    const workloads = new FakeWorkloads();
    const ready = (): number => workloads.list()[0]?.instances.filter((instance) => instance.ready).length ?? 0;

    it('gets ready when the test says so, and not before', async () => {
      await workloads.ensure(desired);
      expect(ready()).toBe(0);
      workloads.markReady('hello-1', 1);
      expect(ready()).toBe(1);
      workloads.markReady('hello-1');
      expect(ready()).toBe(2);
    });

    it('cuts the calls of an instance that is killed', async () => {
      const id = workloads.list()[0]!.instances[0]!.id;
      const call = workloads.call(id);
      workloads.kill(id);
      expect(await call.ended).toBe('cut');
      expect(ready()).toBe(1);
      expect(() => workloads.kill(id)).toThrow('there is no instance');
    });

    it('fails for the reason given', () => {
      workloads.fail('hello-1', { reason: 'CrashLoop', message: 'exit 1' });
      expect(workloads.list()[0]).toMatchObject({ failure: { reason: 'CrashLoop', message: 'exit 1' } });
      expect(ready()).toBe(0);
    });

    it('refuses while the test wants it to', async () => {
      workloads.refuse(new Error('no room'));
      await expect(workloads.ensure(desired)).rejects.toThrow('no room');
      workloads.refuse(undefined);
      await workloads.remove('hello-1');
      expect(workloads.requests).toEqual([{ ensure: desired }, { remove: 'hello-1' }]);
    });
  });
});
