import { eventually } from '@wherry/testing/eventually.ts';
import type { DesiredWorkload, ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { testWorkload } from '../testing/test-workload.ts';
import { useWorkloads } from '../testing/workload-bench.ts';

const bench = useWorkloads();

describe('createDeploymentWorkloads, observing', () => {
  let desired: DesiredWorkload;
  let pod: string;
  beforeEach(async () => {
    desired = testWorkload();
    await bench.workloads.ensure(desired);
    pod = await bench.cluster.startPod(bench.namespace, desired.name);
  });
  const report = (what: Parameters<TestCluster['report']>[2]): Promise<void> =>
    bench.cluster.report(bench.namespace, pod, what);
  const instances = (): ObservedWorkload['instances'] => bench.find(desired.name)?.instances ?? [];
  const isReady = (): boolean | undefined => instances()[0]?.ready;

  it('knows an instance once there is a pod, where it is once it has an address, and that it is ready by pod and endpoint', async () => {
    await eventually(() => expect(instances()).toEqual([{ id: `${pod}.0`, ready: false }]));
    await report({ ip: '10.1.0.7' });
    await eventually(() =>
      expect(instances()).toEqual([{ id: `${pod}.0`, ready: false, address: { host: '10.1.0.7', port: 8080 } }]),
    );
    await report({ ip: '10.1.0.7', ready: true });
    await bench.cluster.publish(bench.namespace, desired.name, { [pod]: true });
    await eventually(() => expect(isReady()).toBe(true));
    await report({ ip: '10.1.0.7', ready: false });
    await eventually(() => expect(isReady()).toBe(false));
    await report({ ip: '10.1.0.7', ready: true });
    await eventually(() => expect(isReady()).toBe(true));
    await bench.cluster.publish(bench.namespace, desired.name, { [pod]: false });
    await eventually(() => expect(isReady()).toBe(false));
  });

  it('takes a pod that is terminating for gone, and one that was evicted', async () => {
    const finalizers = ['example.org/stay'];
    await bench.cluster.edit(`/api/v1/namespaces/${bench.namespace}/pods/${pod}`, { metadata: { finalizers } });
    await eventually(() => expect(instances()).toHaveLength(1));
    await bench.cluster.delete(`/api/v1/namespaces/${bench.namespace}/pods/${pod}`);
    await eventually(() => expect(instances()).toEqual([]));
    pod = await bench.cluster.startPod(bench.namespace, desired.name);
    await eventually(() => expect(instances()).toHaveLength(1));
    await report({ phase: 'Failed' });
    await eventually(() => expect(instances()).toEqual([]));
    await bench.cluster.edit(`/api/v1/namespaces/${bench.namespace}/pods/${pod}`, { metadata: { finalizers: null } });
  });

  it('believes a runtime that it takes calls, until the kubelet takes its own word back', async () => {
    const container = { state: { running: {} } };
    await report({ ip: '10.1.0.7', container });
    await eventually(() => expect(instances()[0]?.address).toBeDefined());
    bench.workloads.markLoaded(pod);
    expect(isReady()).toBe(true);
    const seen: (boolean | undefined)[] = [];
    bench.workloads.watch(() => void seen.push(isReady()));
    await report({ ip: '10.1.0.7', ready: true, container });
    await bench.cluster.publish(bench.namespace, desired.name, { [pod]: true });
    await eventually(() => expect(seen.length).toBeGreaterThan(1));
    expect(seen).not.toContain(false);
    await report({ ip: '10.1.0.7', ready: false, container });
    await eventually(() => expect(isReady()).toBe(false));
  });

  it('S3: what a runtime said ends with its connection, not with late news of the container before it', async () => {
    const terminated = { exitCode: 1 };
    await report({ ip: '10.1.0.7', container: { state: { running: {} } } });
    await eventually(() => expect(instances()[0]?.address).toBeDefined());
    const connectionEnds = bench.workloads.markLoaded(pod);
    expect(isReady()).toBe(true);
    connectionEnds();
    expect(isReady()).toBe(false);
    await report({ ip: '10.1.0.7', container: { state: { terminated } } });
    // The next container speaks before the kubelet has said that there is one.
    const nextEnds = bench.workloads.markLoaded(pod);
    connectionEnds();
    expect(instances()).toEqual([expect.objectContaining({ id: `${pod}.0`, ready: true })]);
    await report({ ip: '10.1.0.7', container: { restartCount: 1, state: { running: {} }, lastState: { terminated } } });
    await eventually(() => expect(instances()).toEqual([expect.objectContaining({ id: `${pod}.1`, ready: true })]));
    nextEnds();
    expect(isReady()).toBe(false);
  });

  it('says why code does not load, as the runtime wrote it, until an instance is ready', async () => {
    const message = JSON.stringify({ reason: 'LoadError', message: 'boom at main.ts:3' });
    const failed = { restartCount: 1, state: { running: {} }, lastState: { terminated: { exitCode: 1, message } } };
    await report({ ip: '10.1.0.7', container: failed });
    await eventually(() =>
      expect(bench.find(desired.name)?.failure).toEqual({ reason: 'LoadError', message: 'boom at main.ts:3' }),
    );
    await report({ ip: '10.1.0.7', ready: true, container: failed });
    await bench.cluster.publish(bench.namespace, desired.name, { [pod]: true });
    await eventually(() => expect(isReady()).toBe(true));
    expect(bench.find(desired.name)).not.toHaveProperty('failure');
  });

  it('says what keeps pods from starting', async () => {
    await report({
      phase: 'Pending',
      container: { state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
    });
    await eventually(() =>
      expect(bench.find(desired.name)?.waiting).toBe(
        `The container of the pod ${pod} cannot be started (ImagePullBackOff): no such image`,
      ),
    );
    expect(bench.find(desired.name)).not.toHaveProperty('failure');
  });

  it("says why the pod's volumes cannot be mounted, as the kubelet last did, until they are", async () => {
    const container = { state: { waiting: { reason: 'ContainerCreating' } } };
    const { metadata } = await bench.cluster.get(`/api/v1/namespaces/${bench.namespace}/pods/${pod}`);
    const say = (name: string, uid: string, message: string): Promise<unknown> =>
      bench.cluster.create(`/api/v1/namespaces/${bench.namespace}/events`, {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name },
        type: 'Warning',
        reason: 'FailedMount',
        involvedObject: { kind: 'Pod', namespace: bench.namespace, name: pod, uid },
        message,
      });
    const waiting = (): string | undefined => bench.find(desired.name)?.waiting;
    await report({ phase: 'Pending', container });
    await say('first', metadata.uid, 'secret "hello-feed" not found');
    await eventually(() => expect(waiting()).toMatch(/"hello-feed" not found$/));
    await say('second', metadata.uid, 'configmap "wherry-feed-ca" not found');
    await say('of-a-pod-before', 'another-uid', 'no such node');
    await eventually(() =>
      expect(waiting()).toBe(`The volumes of the pod ${pod} cannot be mounted: configmap "wherry-feed-ca" not found`),
    );
    await bench.cluster.delete(`/api/v1/namespaces/${bench.namespace}/events/second`);
    await eventually(() => expect(waiting()).toMatch(/"hello-feed" not found$/));
    await report({ phase: 'Pending', container, conditions: [{ type: 'PodReadyToStartContainers', status: 'True' }] });
    await eventually(() => expect(bench.find(desired.name)).not.toHaveProperty('waiting'));
  });

  it('says what keeps the others from starting, while one takes calls', async () => {
    await bench.workloads.ensure({ ...desired, replicas: 2 });
    await report({ ip: '10.1.0.7', ready: true });
    await bench.cluster.publish(bench.namespace, desired.name, { [pod]: true });
    const second = await bench.cluster.startPod(bench.namespace, desired.name);
    const message = '0/1 nodes are available: 1 Insufficient memory.';
    await bench.cluster.report(bench.namespace, second, {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
    });
    await eventually(() =>
      expect(bench.find(desired.name)?.waiting).toBe(`No node accepts the pod ${second}: ${message}`),
    );
    expect(instances().filter(({ ready }) => ready)).toHaveLength(1);
    await bench.workloads.ensure(desired);
    await eventually(() => expect(bench.find(desired.name)).not.toHaveProperty('waiting'));
  });

  it('S2: identifies a runtime by its pod, once that has an address, and nobody else', async () => {
    const hello = {
      type: 'hello' as const,
      role: 'runtime' as const,
      instance: pod,
      workload: desired.name,
      functionUid: desired.functionUid,
      token: 't',
    };
    const peer = { address: '10.1.0.7', gone: new AbortController().signal };
    const early = bench.workloads.identify(hello, peer);
    await report({ ip: '10.1.0.7' });
    expect(await early).toEqual({
      instanceId: pod,
      workload: desired.name,
      functionName: 'hello',
      revision: desired.revision,
      listen: { host: '10.1.0.7', port: 8080 },
    });
    expect(await bench.workloads.identify({ ...hello, workload: 'another' }, peer)).toBeUndefined();
    expect(await bench.workloads.identify({ ...hello, functionUid: 'another' }, peer)).toBeUndefined();
  });
});
