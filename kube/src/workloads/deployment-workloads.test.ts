import { eventually } from '@wherry/core/contracts/eventually.ts';
import { FakeClock } from '@wherry/core/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/core/fakes/fake-logger.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { DesiredWorkload, ObservedWorkload } from '@wherry/core/ports/workloads.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { TEST_SETTINGS, testWorkload } from '../testing/test-workload.ts';
import { createDeploymentWorkloads, type DeploymentWorkloads } from './deployment-workloads.ts';

interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: {
    hostNetwork?: boolean;
    volumes: { name: string }[];
    containers: { name: string; image: string; securityContext: object }[];
  };
}
interface RawDeployment {
  metadata: {
    uid: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    ownerReferences?: { uid: string }[];
  };
  spec: { replicas: number; template: PodTemplate };
}

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
}, 120_000);
afterAll(() => cluster.stop());

let namespace: string;
let workloads: DeploymentWorkloads;
let leads: boolean;
let logger: FakeLogger;
const running: DeploymentWorkloads[] = [];
beforeEach(async () => {
  leads = true;
  logger = new FakeLogger();
  namespace = await cluster.createNamespace();
  workloads = await startWorkloads();
  cluster.takeWrites();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
});

async function startWorkloads(clock: Clock = systemClock): Promise<DeploymentWorkloads> {
  const settings = { ...TEST_SETTINGS, namespace };
  const made = createDeploymentWorkloads({
    client: cluster.client,
    settings,
    tokenOf: (uid) => `token-of-${uid}`,
    leads: () => leads,
    clock,
    logger,
  });
  running.push(made);
  await made.start();
  return made;
}

const paths = (name: string): Record<'deployment' | 'service' | 'budget' | 'secret', string> => ({
  deployment: `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`,
  service: `/api/v1/namespaces/${namespace}/services/${name}`,
  budget: `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${name}`,
  secret: `/api/v1/namespaces/${namespace}/secrets/hello-feed`,
});
const deploymentOf = (name: string): Promise<RawDeployment> => cluster.get<RawDeployment>(paths(name).deployment);
const find = (name: string): ObservedWorkload | undefined =>
  workloads.list().find((workload) => workload.name === name);
const missing = (path: string): Promise<void> => expect(cluster.get(path)).rejects.toMatchObject({ code: 'not_found' });

/** Whoever wants a workload asks for it again when it is gone, as the operator's reconcile does. */
function askAgain(desired: DesiredWorkload): void {
  workloads.watch(() => {
    if (find(desired.name) === undefined) void workloads.ensure(desired);
  });
}

async function readyPod(desired: DesiredWorkload, ip = '10.1.0.1'): Promise<string> {
  const pod = await cluster.startPod(namespace, desired.name);
  await cluster.report(namespace, pod, { ip, ready: true, container: { state: { running: {} } } });
  await cluster.publish(namespace, desired.name, { [pod]: true });
  await eventually(() => expect(find(desired.name)?.instances.filter(({ ready }) => ready)).toHaveLength(1));
  return pod;
}

describe('createDeploymentWorkloads, writing', () => {
  it('makes what a workload is, owned by its function, in a namespace that takes restricted pods alone', async () => {
    const desired = testWorkload({ replicas: 2 });
    await workloads.ensure(desired);
    for (const path of Object.values(paths(desired.name))) {
      const { metadata } = await cluster.get<RawDeployment>(path);
      expect(metadata.ownerReferences).toEqual([
        expect.objectContaining({ kind: 'Function', name: 'hello', uid: desired.functionUid, controller: true }),
      ]);
    }
    const { data } = await cluster.get<{ data: Record<string, string> }>(paths('').secret);
    expect(Buffer.from(data['token'] ?? '', 'base64').toString()).toBe(`token-of-${desired.functionUid}`);
    // Pod Security refuses a pod that it does not take.
    await cluster.startPod(namespace, desired.name);
    expect(find(desired.name)).toMatchObject({ functionName: 'hello', revision: desired.revision, replicas: 2 });
  });

  it('K3: writes nothing a second time, also as another operator or at once', async () => {
    const desired = testWorkload({ replicas: 2, template: { memoryMiB: 2048, cpuMillis: 1000 } });
    await workloads.ensure(desired);
    expect(cluster.takeWrites()).toHaveLength(4);
    await workloads.ensure(structuredClone(desired));
    const other = await startWorkloads();
    await other.ensure(desired);
    await workloads.ensure(desired);
    expect(cluster.takeWrites()).toEqual([]);
  });

  it('scales by one write, with a disruption budget only where there are several', async () => {
    const desired = testWorkload();
    await workloads.ensure(desired);
    await missing(paths(desired.name).budget);
    cluster.takeWrites();
    await workloads.ensure({ ...desired, replicas: 3 });
    expect(cluster.takeWrites()).toEqual([
      `PATCH ${paths(desired.name).deployment}`,
      `PATCH ${paths(desired.name).budget}`,
    ]);
    await workloads.ensure({ ...desired, replicas: 1 });
    expect((await deploymentOf(desired.name)).spec.replicas).toBe(1);
    await missing(paths(desired.name).budget);
    expect(find(desired.name)?.replicas).toBe(1);
  });

  it.each<[string, object]>([
    [
      'a security field',
      {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: 'function',
                  securityContext: { allowPrivilegeEscalation: true, readOnlyRootFilesystem: false },
                },
              ],
            },
          },
        },
      },
    ],
    ['the host network', { spec: { template: { spec: { hostNetwork: true } } } }],
    ['a second container', { spec: { template: { spec: { containers: [{ name: 'evil', image: 'evil' }] } } } }],
    [
      'a volume of the host',
      { spec: { template: { spec: { volumes: [{ name: 'host', hostPath: { path: '/' } }] } } } },
    ],
    [
      'more rights',
      {
        spec: {
          template: {
            spec: { containers: [{ name: 'function', securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }] },
          },
        },
      },
    ],
    ['another image', { spec: { template: { spec: { containers: [{ name: 'function', image: 'evil' }] } } } }],
    ['no owner', { metadata: { ownerReferences: null } }],
    ['no label', { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } }],
  ])('K2: reverts %s within 10 s, and then rests', async (_what, change) => {
    const desired = testWorkload();
    await workloads.ensure(desired);
    askAgain(desired);
    const { deployment } = paths(desired.name);
    const before = await deploymentOf(desired.name);
    await cluster.edit(deployment, change, 'application/strategic-merge-patch+json');
    await eventually(async () => {
      const { spec, metadata } = await deploymentOf(desired.name);
      expect({ spec, labels: metadata.labels, owners: metadata.ownerReferences }).toEqual({
        spec: before.spec,
        labels: before.metadata.labels,
        owners: before.metadata.ownerReferences,
      });
    }, 10_000);
    cluster.takeWrites();
    await workloads.ensure(desired);
    expect(cluster.takeWrites()).toEqual([]);
  });

  it('K2: tells that a Deployment is gone, and makes nothing of it again that is not asked for', async () => {
    const desired = testWorkload();
    await workloads.ensure(desired);
    const { service, deployment } = paths(desired.name);
    await cluster.delete(deployment);
    await eventually(() => expect(find(desired.name)).toBeUndefined());
    cluster.takeWrites();
    await cluster.edit(service, { spec: { externalIPs: ['192.0.2.1'] } });
    const another = testWorkload({ functionName: 'another' });
    await workloads.ensure(another);
    await cluster.edit(paths(another.name).deployment, { spec: { replicas: 7 } });
    // What came later is put right.
    await eventually(async () => expect((await deploymentOf(another.name)).spec.replicas).toBe(1), 10_000);
    expect(cluster.takeWrites().filter((write) => write.includes(desired.name))).toEqual([]);
  });

  it('K2: makes again what others delete, and mends the Service and the token', async () => {
    const desired = testWorkload();
    await workloads.ensure(desired);
    askAgain(desired);
    const { service, secret, deployment } = paths(desired.name);
    const before = await Promise.all(
      [service, secret].map((path) => cluster.get<{ spec?: object; data?: object }>(path)),
    );
    await cluster.edit(service, { spec: { externalIPs: ['192.0.2.1'] } });
    await cluster.edit(secret, { data: { token: 'eA==', more: 'eA==' } });
    await cluster.delete(deployment);
    await eventually(async () => {
      const after = await Promise.all(
        [service, secret].map((path) => cluster.get<{ spec?: object; data?: object }>(path)),
      );
      expect(after.map(({ spec, data }) => spec ?? data)).toEqual(before.map(({ spec, data }) => spec ?? data));
      await deploymentOf(desired.name);
    }, 10_000);
  });

  it('K2: leaves labels and annotations of others, on pods too', async () => {
    const desired = testWorkload();
    await workloads.ensure(desired);
    const theirs = { labels: { team: 'a' }, annotations: { note: 'b' } };
    await cluster.edit(paths(desired.name).deployment, { metadata: theirs, spec: { template: { metadata: theirs } } });
    await workloads.ensure({ ...desired, replicas: 2 });
    const { metadata, spec } = await deploymentOf(desired.name);
    for (const { labels, annotations } of [metadata, spec.template.metadata]) {
      expect(labels).toMatchObject(theirs.labels);
      expect(annotations).toMatchObject(theirs.annotations);
    }
  });

  it("does not take over what is another's, says so, and goes on once it is gone", async () => {
    const desired = testWorkload();
    const { service } = paths(desired.name);
    const spec = { type: 'ExternalName', externalName: 'example.org' };
    await cluster.create(service.slice(0, service.lastIndexOf('/')), {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: desired.name },
      spec,
    });
    await workloads.ensure(desired);
    expect(find(desired.name)).toMatchObject({
      instances: [],
      waiting: expect.stringMatching(new RegExp(`"${desired.name}".*not Wherry's: delete or rename`)),
    });
    expect((await cluster.get<{ spec: object }>(service)).spec).toMatchObject(spec);
    await missing(paths(desired.name).deployment);
    await cluster.delete(service);
    await eventually(() => deploymentOf(desired.name).then(() => undefined));
    await eventually(() => expect(find(desired.name)).not.toHaveProperty('waiting'));
  });

  it('tells once what is in the way of a workload that runs', async () => {
    const desired = testWorkload({ replicas: 2 });
    const { budget } = paths(desired.name);
    await cluster.create(budget.slice(0, budget.lastIndexOf('/')), {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: desired.name },
      spec: { maxUnavailable: 1 },
    });
    await workloads.ensure(desired);
    expect(find(desired.name)).toMatchObject({ replicas: 2, waiting: expect.stringContaining("not Wherry's") });
    expect(logger.of('warn').map(({ message }) => message)).toEqual([find(desired.name)?.waiting]);
  });

  it('makes anew what is left of an earlier function of the name', async () => {
    const desired = testWorkload();
    await workloads.ensure(desired);
    await readyPod(desired);
    const before = await deploymentOf(desired.name);
    await workloads.ensure({ ...desired, functionUid: 'another-uid' });
    const after = await deploymentOf(desired.name);
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    expect(after.metadata.ownerReferences).toEqual([expect.objectContaining({ uid: 'another-uid' })]);
    await eventually(() => expect(find(desired.name)?.instances).toEqual([]));
  });

  it('removes, and brings back without the instances that go', async () => {
    const desired = testWorkload();
    await workloads.ensure(desired);
    await readyPod(desired);
    await workloads.remove(desired.name);
    expect(find(desired.name)).toBeUndefined();
    await missing(paths(desired.name).deployment);
    await workloads.remove(desired.name);
    await workloads.remove('never-was');
    await workloads.ensure(desired);
    expect(find(desired.name)).toMatchObject({ instances: [] });
    const pod = await cluster.startPod(namespace, desired.name);
    await eventually(() => expect(find(desired.name)?.instances.map(({ id }) => id)).toEqual([`${pod}.0`]));
  });

  it('repairs only while it leads, and nothing after it rests', async () => {
    const clock = new FakeClock();
    workloads = await startWorkloads(clock);
    const desired = testWorkload();
    const { deployment } = paths(desired.name);
    await workloads.ensure(desired);
    const editReplicas = async (replicas: number): Promise<string[]> => {
      cluster.takeWrites();
      await cluster.edit(deployment, { spec: { replicas } });
      await eventually(() => expect(find(desired.name)?.replicas).toBe(replicas));
      await clock.advance(10_000);
      return cluster.takeWrites();
    };
    leads = false;
    expect(await editReplicas(7)).toEqual([]);
    leads = true;
    expect(await editReplicas(8)).toEqual([`PATCH ${deployment}`]);
    await eventually(() => expect(find(desired.name)?.replicas).toBe(1));
    workloads.rest();
    expect(await editReplicas(9)).toEqual([]);
    await workloads.ensure(desired);
    expect(find(desired.name)?.replicas).toBe(1);
  });

  it('removes what belongs to no Deployment and no pod any more, after a while', async () => {
    const clock = new FakeClock(Date.now());
    workloads = await startWorkloads(clock);
    const desired = testWorkload({ replicas: 2 });
    const { service, budget, secret } = paths(desired.name);
    await workloads.ensure(desired);
    const pod = await cluster.startPod(namespace, desired.name);
    await eventually(() => expect(find(desired.name)?.instances).toHaveLength(1));
    await workloads.remove(desired.name);
    await clock.advance(120_000);
    expect(cluster.takeWrites().filter((write) => write.startsWith('DELETE'))).toEqual([
      `DELETE ${paths(desired.name).deployment}`,
    ]);
    await cluster.delete(`/api/v1/namespaces/${namespace}/pods/${pod}?gracePeriodSeconds=0`);
    await eventually(async () => {
      await clock.advance(2000);
      for (const path of [service, budget]) await missing(path);
    });
    await cluster.get(secret);
  });
});

describe('createDeploymentWorkloads, observing', () => {
  let desired: DesiredWorkload;
  let pod: string;
  beforeEach(async () => {
    desired = testWorkload();
    await workloads.ensure(desired);
    pod = await cluster.startPod(namespace, desired.name);
  });
  const report = (what: Parameters<TestCluster['report']>[2]): Promise<void> => cluster.report(namespace, pod, what);
  const instances = (): ObservedWorkload['instances'] => find(desired.name)?.instances ?? [];
  const isReady = (): boolean | undefined => instances()[0]?.ready;

  it('knows an instance once there is a pod, where it is once it has an address, and that it is ready by pod and endpoint', async () => {
    await eventually(() => expect(instances()).toEqual([{ id: `${pod}.0`, ready: false }]));
    await report({ ip: '10.1.0.7' });
    await eventually(() =>
      expect(instances()).toEqual([{ id: `${pod}.0`, ready: false, address: { host: '10.1.0.7', port: 8080 } }]),
    );
    await report({ ip: '10.1.0.7', ready: true });
    await cluster.publish(namespace, desired.name, { [pod]: true });
    await eventually(() => expect(isReady()).toBe(true));
    await report({ ip: '10.1.0.7', ready: false });
    await eventually(() => expect(isReady()).toBe(false));
    await report({ ip: '10.1.0.7', ready: true });
    await eventually(() => expect(isReady()).toBe(true));
    await cluster.publish(namespace, desired.name, { [pod]: false });
    await eventually(() => expect(isReady()).toBe(false));
  });

  it('takes a pod that is told to go for gone, and one that was evicted', async () => {
    const finalizers = ['example.org/stay'];
    await cluster.edit(`/api/v1/namespaces/${namespace}/pods/${pod}`, { metadata: { finalizers } });
    await eventually(() => expect(instances()).toHaveLength(1));
    await cluster.delete(`/api/v1/namespaces/${namespace}/pods/${pod}`);
    await eventually(() => expect(instances()).toEqual([]));
    pod = await cluster.startPod(namespace, desired.name);
    await eventually(() => expect(instances()).toHaveLength(1));
    await report({ phase: 'Failed' });
    await eventually(() => expect(instances()).toEqual([]));
    await cluster.edit(`/api/v1/namespaces/${namespace}/pods/${pod}`, { metadata: { finalizers: null } });
  });

  it('believes a runtime that it takes calls, until the kubelet takes its own word back', async () => {
    const container = { state: { running: {} } };
    await report({ ip: '10.1.0.7', container });
    await eventually(() => expect(instances()[0]?.address).toBeDefined());
    workloads.markLoaded(pod);
    expect(isReady()).toBe(true);
    const seen: (boolean | undefined)[] = [];
    workloads.watch(() => void seen.push(isReady()));
    await report({ ip: '10.1.0.7', ready: true, container });
    await cluster.publish(namespace, desired.name, { [pod]: true });
    await eventually(() => expect(seen.length).toBeGreaterThan(1));
    expect(seen).not.toContain(false);
    await report({ ip: '10.1.0.7', ready: false, container });
    await eventually(() => expect(isReady()).toBe(false));
  });

  it('S3: what a runtime said ends with its connection, not with late news of the container before it', async () => {
    const terminated = { exitCode: 1 };
    await report({ ip: '10.1.0.7', container: { state: { running: {} } } });
    await eventually(() => expect(instances()[0]?.address).toBeDefined());
    const connectionEnds = workloads.markLoaded(pod);
    expect(isReady()).toBe(true);
    connectionEnds();
    expect(isReady()).toBe(false);
    await report({ ip: '10.1.0.7', container: { state: { terminated } } });
    // The next container speaks before the kubelet has said that there is one.
    const nextEnds = workloads.markLoaded(pod);
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
      expect(find(desired.name)?.failure).toEqual({ reason: 'LoadError', message: 'boom at main.ts:3' }),
    );
    await report({ ip: '10.1.0.7', ready: true, container: failed });
    await cluster.publish(namespace, desired.name, { [pod]: true });
    await eventually(() => expect(isReady()).toBe(true));
    expect(find(desired.name)).not.toHaveProperty('failure');
  });

  it('says what keeps pods from starting', async () => {
    await report({
      phase: 'Pending',
      container: { state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
    });
    await eventually(() =>
      expect(find(desired.name)?.waiting).toBe(
        `The container of the pod ${pod} cannot be started (ImagePullBackOff): no such image`,
      ),
    );
    expect(find(desired.name)).not.toHaveProperty('failure');
  });

  it('says what keeps the others from starting, while one takes calls', async () => {
    await workloads.ensure({ ...desired, replicas: 2 });
    await report({ ip: '10.1.0.7', ready: true });
    await cluster.publish(namespace, desired.name, { [pod]: true });
    const second = await cluster.startPod(namespace, desired.name);
    const message = '0/1 nodes are available: 1 Insufficient memory.';
    await cluster.report(namespace, second, {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
    });
    await eventually(() => expect(find(desired.name)?.waiting).toBe(`No node takes the pod ${second}: ${message}`));
    expect(instances().filter(({ ready }) => ready)).toHaveLength(1);
    await workloads.ensure(desired);
    await eventually(() => expect(find(desired.name)).not.toHaveProperty('waiting'));
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
    const early = workloads.identify(hello, peer);
    await report({ ip: '10.1.0.7' });
    expect(await early).toEqual({
      instanceId: pod,
      workload: desired.name,
      functionName: 'hello',
      revision: desired.revision,
      listen: { host: '10.1.0.7', port: 8080 },
    });
    expect(await workloads.identify({ ...hello, workload: 'another' }, peer)).toBeUndefined();
    expect(await workloads.identify({ ...hello, functionUid: 'another' }, peer)).toBeUndefined();
  });
});
