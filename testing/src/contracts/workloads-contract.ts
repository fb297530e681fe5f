import { workloadName } from '@wherry/core/workload-name.ts';
import type { DesiredWorkload, ObservedInstance, ObservedWorkload, Workloads } from '@wherry/core/ports/workloads.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { eventually } from '../eventually.ts';

/** Workloads to test, and what their test must do beside them. */
export interface WorkloadsHarness {
  workloads: Workloads;
  /** A revision whose artifact loads. Each call may give the same one. */
  goodRevision(): Promise<Digest>;
  /** A revision whose artifact does not load. */
  badRevision(): Promise<Digest>;
  /** Ends an instance as a crash does. */
  kill(instance: ObservedInstance): Promise<void>;
  /** Begins a call in a ready instance that takes a fraction of a second; resolves once it runs. */
  call(instance: ObservedInstance): Promise<{ ended: Promise<'answered' | 'cut'> }>;
  stop(): Promise<void>;
}

/** What all Workloads must do. */
export function workloadsContract(make: () => Promise<WorkloadsHarness>): void {
  let harness: WorkloadsHarness;
  let workloads: Workloads;
  beforeEach(async () => {
    harness = await make();
    workloads = harness.workloads;
  });
  afterEach(() => harness.stop());

  const good = async (functionName = 'hello', replicas = 1): Promise<DesiredWorkload> =>
    desire(functionName, await harness.goodRevision(), replicas);
  const find = (name: string): ObservedWorkload | undefined =>
    workloads.list().find((workload) => workload.name === name);
  const ready = (name: string): ObservedInstance[] => find(name)?.instances.filter((instance) => instance.ready) ?? [];
  const untilReady = async (name: string, count = 1): Promise<ObservedInstance[]> => {
    await eventually(() => expect(ready(name)).toHaveLength(count));
    return ready(name);
  };

  it('runs instances until as many as wanted are ready, each with an address', async () => {
    const desired = await good('hello', 2);
    await workloads.ensure(desired);
    const instances = await untilReady(desired.name, 2);
    expect(new Set(instances.map(({ id }) => id)).size).toBe(2);
    expect(new Set(instances.map(({ address }) => JSON.stringify(address))).size).toBe(2);
    expect(instances.every(({ address }) => address !== undefined)).toBe(true);
    expect(find(desired.name)).toMatchObject({ functionName: 'hello', revision: desired.revision, replicas: 2 });
    expect(find(desired.name)).not.toHaveProperty('failure');
  });

  it('K3: leaves what is as wanted alone', async () => {
    const desired = await good();
    await workloads.ensure(desired);
    const before = await untilReady(desired.name);
    await workloads.ensure(desired);
    await workloads.ensure(structuredClone(desired));
    expect(ready(desired.name)).toEqual(before);
    expect(workloads.list()).toHaveLength(1);
  });

  it('scales up and down without touching the instances that stay', async () => {
    const desired = await good();
    await workloads.ensure(desired);
    const [first] = await untilReady(desired.name);
    await workloads.ensure({ ...desired, replicas: 2 });
    const both = await untilReady(desired.name, 2);
    expect(both).toContainEqual(first);
    await workloads.ensure({ ...desired, replicas: 1 });
    const [left] = await untilReady(desired.name, 1);
    expect(both).toContainEqual(left);
  });

  it('S3: replaces an instance that dies by one of another id', async () => {
    const desired = await good();
    await workloads.ensure(desired);
    const [dead] = await untilReady(desired.name);
    await harness.kill(dead!);
    await eventually(() =>
      expect(ready(desired.name).map(({ id }) => id)).toEqual([expect.not.stringMatching(`^${dead!.id}$`)]),
    );
  });

  it('says why code that does not load has no instance', async () => {
    const desired = desire('broken', await harness.badRevision(), 1);
    await workloads.ensure(desired);
    await eventually(() =>
      expect(find(desired.name)?.failure).toMatchObject({ reason: expect.stringMatching(/^(Load|Export)Error$/) }),
    );
    expect(find(desired.name)?.failure?.message).not.toBe('');
    expect(ready(desired.name)).toEqual([]);
  });

  it('keeps workloads apart: a broken or removed one does nothing to another', async () => {
    const [one, other] = [await good('one'), await good('other')];
    const broken = desire('broken', await harness.badRevision(), 1);
    await Promise.all([one, other, broken].map((desired) => workloads.ensure(desired)));
    const before = await untilReady(one.name);
    await untilReady(other.name);
    await eventually(() => expect(find(broken.name)?.failure).toBeDefined());
    await workloads.remove(other.name);
    await workloads.remove(broken.name);
    await eventually(() => expect(workloads.list().map(({ name }) => name)).toEqual([one.name]));
    expect(ready(one.name)).toEqual(before);
  });

  it('removes after the running calls are answered', async () => {
    const desired = await good();
    await workloads.ensure(desired);
    const [instance] = await untilReady(desired.name);
    const call = await harness.call(instance!);
    await workloads.remove(desired.name);
    expect(ready(desired.name)).toEqual([]);
    expect(await call.ended).toBe('answered');
    await eventually(() => expect(find(desired.name)).toBeUndefined());
  });

  it('finds nothing wrong with removing what is not there', async () => {
    await workloads.remove('never-was');
    const desired = await good();
    await workloads.ensure(desired);
    await Promise.all([workloads.remove(desired.name), workloads.remove(desired.name)]);
    await eventually(() => expect(find(desired.name)).toBeUndefined());
  });

  it('brings a removed workload back with new instances', async () => {
    const desired = await good();
    await workloads.ensure(desired);
    const [before] = await untilReady(desired.name);
    await workloads.remove(desired.name);
    await workloads.ensure(desired);
    const [after] = await untilReady(desired.name);
    expect(after!.id).not.toBe(before!.id);
  });

  it('notifies each watcher of changes, until it stops', async () => {
    const desired = await good();
    const seen: string[] = [];
    const late: string[] = [];
    const stop = workloads.watch(
      (name, functionName) => void seen.push(`${functionName} ${name} ${ready(name).length}`),
    );
    workloads.watch(() => undefined);
    await workloads.ensure(desired);
    await eventually(() => expect(seen).toContain(`hello ${desired.name} 1`));
    stop();
    stop();
    const before = seen.length;
    workloads.watch((name) => void late.push(name));
    await workloads.remove(desired.name);
    await eventually(() => expect(late).toContain(desired.name));
    expect(seen).toHaveLength(before);
  });

  it("gives away lists that are the caller's own", async () => {
    const desired = await good();
    await workloads.ensure(desired);
    await untilReady(desired.name);
    const before = structuredClone(workloads.list());
    const [mine] = workloads.list();
    mine!.replicas = 99;
    mine!.instances[0]!.ready = false;
    Object.assign(mine!.instances[0]!.address!, { path: 'elsewhere' });
    mine!.instances.length = 0;
    expect(workloads.list()).toEqual(before);
  });
}

function desire(functionName: string, revision: Digest, replicas: number): DesiredWorkload {
  const template = { memoryMiB: 128, cpuMillis: null };
  const name = workloadName(functionName, revision, template);
  return { name, functionName, functionUid: `uid-${functionName}`, revision, template, replicas, drainSeconds: 10 };
}
