import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { channelPair } from '@wherry/testing/fakes/fake-feed-channel.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import type { RuntimeOutcome } from '@wherry/core/ports/runtime-feed.ts';
import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import type { ProcessExit } from './exit-message.ts';
import { INSTANCE_LIMITS } from './instance-limits.ts';
import type { RuntimeProcess } from './runtime-process.ts';
import { createStartQueue } from './start-queue.ts';
import { Workload } from './workload.ts';

const DESIRED: DesiredWorkload = {
  name: 'hello-1',
  functionName: 'hello',
  functionUid: 'u',
  revision: 'a'.repeat(64),
  template: { memoryMiB: 128, cpuMillis: null },
  replicas: 1,
  drainSeconds: 3,
};

/** A workload whose processes are none: a test loads and ends them. */
class Stage {
  /** 0: the longest wait before a restart. */
  random = 0;
  readonly clock = new FakeClock();
  readonly instances: { load(): void; fail(): void; end(code?: number): void; signals: string[]; hear(): void }[] = [];
  refusal: Error | undefined;
  #latest: { outcome: (value: RuntimeOutcome) => void; heard: number } | undefined;

  make(desired: DesiredWorkload = DESIRED): Workload {
    const metrics = new FakeMetrics();
    return new Workload(
      desired,
      {
        spares: { obtain: () => this.#obtain() },
        starts: createStartQueue(this.clock),
        feed: { attach: () => this.#attach() },
        clock: this.clock,
        random: () => this.random,
        logger: new FakeLogger(),
        limits: INSTANCE_LIMITS,
        coldStarts: metrics.counter({ type: 'counter', name: 'starts', help: '', labels: [] }),
        deaths: metrics.counter({ type: 'counter', name: 'deaths', help: '', labels: ['cause'] }),
      },
      () => undefined,
    );
  }

  #obtain(): RuntimeProcess {
    if (this.refusal !== undefined) throw this.refusal;
    const { promise: exited, resolve } = Promise.withResolvers<ProcessExit>();
    const [channel] = channelPair();
    const id = String(this.instances.length);
    const signals: string[] = [];
    const session = { outcome: (_value: RuntimeOutcome): void => undefined, heard: 0 };
    this.#latest = session;
    const end = (code = 1): void => {
      session.outcome({ type: 'closed' });
      resolve({ code, signal: null, output: '' });
    };
    this.instances.push({
      signals,
      end,
      load: () => session.outcome({ type: 'loaded', address: { path: `/i/${id}/s` } }),
      fail: () => session.outcome({ type: 'failed', reason: 'ExportError', message: 'no default export' }),
      hear: () => void (session.heard += 1),
    });
    const folder = { id, path: `/i/${id}`, socket: `/i/${id}/s`, temporary: `/i/${id}/tmp` };
    const kill = (signal: string): void => {
      signals.push(signal);
      if (signal === 'SIGKILL') end();
    };
    return { pid: undefined, folder, memoryMiB: 128, channel, exited, gone: exited.then(() => undefined), kill };
  }

  #attach(): { outcome: Promise<RuntimeOutcome>; lastHeard: () => number } {
    const session = this.#latest!;
    const { promise: outcome, resolve } = Promise.withResolvers<RuntimeOutcome>();
    session.outcome = resolve;
    return { outcome, lastHeard: () => session.heard };
  }
}

describe('Workload', () => {
  let stage: Stage;
  beforeEach(() => void (stage = new Stage()));

  it('replaces the first that dies at once, the next ones later and later', async () => {
    const workload = stage.make();
    const startedAfter: number[] = [];
    for (let death = 1; death <= 6; death += 1) {
      stage.instances.at(-1)!.end();
      const before = stage.clock.monotonic();
      while (stage.instances.length === death) await stage.clock.advance(10);
      startedAfter.push(stage.clock.monotonic() - before);
    }
    // Looked at each 10 ms, once the first time has come.
    expect(startedAfter).toEqual([10, 250, 500, 1000, 2000, 4000]);
    expect(workload.observe().failure).toEqual({
      reason: 'CrashLoop',
      message: 'Instances ended 6 times in a row. The instance exited with code 1.',
    });
  });

  it.each<[string, boolean, number]>([
    // The others than the first few are 15 s apart at least.
    ['never gets ready', false, 245],
    // What had been ready is back within 5 s (S3): 1.25 s apart at least, looked at each 500 ms.
    ['ends as soon as it is ready', true, 2405],
  ])('S8: one that %s takes a start now and then, not all there are', async (_name, isReady, most) => {
    stage.random = 1;
    stage.make();
    for (let ms = 0; ms < 3_600_000; ms += 500) {
      const latest = stage.instances.at(-1)!;
      if (isReady) latest.load();
      await stage.clock.advance(500);
      latest.end();
    }
    expect(stage.instances.length).toBeGreaterThan(most / 2);
    expect(stage.instances.length).toBeLessThanOrEqual(most);
  });

  it('forgets earlier deaths of an instance that was ready for a while', async () => {
    const workload = stage.make();
    for (let round = 0; round < 5; round += 1) {
      stage.instances.at(-1)!.load();
      await stage.clock.advance(INSTANCE_LIMITS.stableMs);
      stage.instances.at(-1)!.end();
      await stage.clock.advance(10);
      expect(stage.instances).toHaveLength(round + 2);
    }
    expect(workload.observe().failure).toBeUndefined();
  });

  it('reports at once why its code does not load', async () => {
    const workload = stage.make();
    stage.instances[0]!.fail();
    stage.instances[0]!.end();
    await stage.clock.advance(1);
    expect(workload.observe().failure).toEqual({ reason: 'ExportError', message: 'no default export' });
  });

  it('ends a process that has failed to load and stays', async () => {
    stage.make();
    stage.instances[0]!.fail();
    await stage.clock.advance(1000);
    expect(stage.instances[0]!.signals).toEqual(['SIGKILL']);
  });

  it('tries again when there is no room for a process', async () => {
    stage.refusal = new Error('ENOSPC: no space left on device, mkdir');
    const workload = stage.make();
    await stage.clock.advance(1000);
    expect(workload.observe().failure?.message).toContain(
      'The instance could not be started: ENOSPC: no space left on device, mkdir.',
    );
    stage.refusal = undefined;
    await stage.clock.advance(5000);
    stage.instances[0]!.load();
    await stage.clock.advance(1);
    expect(workload.observe()).toMatchObject({ instances: [{ ready: true, address: { path: '/i/0/s' } }] });
    expect(workload.observe().failure).toBeUndefined();
  });

  it('takes away what is not ready first, then the youngest', async () => {
    const workload = stage.make({ ...DESIRED, replicas: 2 });
    for (const instance of stage.instances) instance.load();
    await stage.clock.advance(1);
    workload.update({ ...DESIRED, replicas: 3 });
    await stage.clock.advance(1);
    workload.update({ ...DESIRED, replicas: 1 });
    await stage.clock.advance(1);
    expect(stage.instances.map(({ signals }) => signals)).toEqual([[], ['SIGTERM'], ['SIGKILL']]);
    expect(workload.observe().instances.filter(({ ready }) => ready)).toHaveLength(1);
  });

  it('gives running calls their time, then ends the instance', async () => {
    const workload = stage.make();
    stage.instances[0]!.load();
    await stage.clock.advance(1);
    let gone = false;
    void workload.drain().gone.then(() => (gone = true));
    await stage.clock.advance(DESIRED.drainSeconds * 1000 + INSTANCE_LIMITS.drainGraceMs - 1);
    expect([stage.instances[0]!.signals, gone]).toEqual([['SIGTERM'], false]);
    await stage.clock.advance(1);
    expect([stage.instances[0]!.signals, gone]).toEqual([['SIGTERM', 'SIGKILL'], true]);
    expect(stage.instances).toHaveLength(1);
  });

  it('S3: ends a ready instance that is silent for too long, and only then', async () => {
    const workload = stage.make();
    stage.instances[0]!.load();
    await stage.clock.advance(1);
    const check = (ms: number): void => {
      for (const instance of workload.instances()) instance.check(ms);
    };
    for (let beat = 0; beat < 10; beat += 1) {
      stage.instances[0]!.hear();
      check(250);
      check(2000);
    }
    expect(stage.instances[0]!.signals).toEqual([]);
    check(2400);
    check(250);
    expect(stage.instances[0]!.signals).toEqual(['SIGKILL']);
  });
});
