import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import { testWorkload } from '../testing/test-workload.ts';
import { useWorkloads } from '../testing/workload-bench.ts';

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

const bench = useWorkloads();

const paths = (name: string): Record<'deployment' | 'service' | 'budget' | 'secret', string> => ({
  deployment: `/apis/apps/v1/namespaces/${bench.namespace}/deployments/${name}`,
  service: `/api/v1/namespaces/${bench.namespace}/services/${name}`,
  budget: `/apis/policy/v1/namespaces/${bench.namespace}/poddisruptionbudgets/${name}`,
  secret: `/api/v1/namespaces/${bench.namespace}/secrets/hello-feed`,
});
const deploymentOf = (name: string): Promise<RawDeployment> => bench.cluster.get<RawDeployment>(paths(name).deployment);
const missing = (path: string): Promise<void> =>
  expect(bench.cluster.get(path)).rejects.toMatchObject({ code: 'not_found' });

/** Whoever wants a workload ensures it again when it is gone, as the operator's reconcile does. */
function ensureAgain(desired: DesiredWorkload): void {
  bench.workloads.watch(() => {
    if (bench.find(desired.name) === undefined) void bench.workloads.ensure(desired);
  });
}

async function readyPod(desired: DesiredWorkload, ip = '10.1.0.1'): Promise<string> {
  const pod = await bench.cluster.startPod(bench.namespace, desired.name);
  await bench.cluster.report(bench.namespace, pod, { ip, ready: true, container: { state: { running: {} } } });
  await bench.cluster.publish(bench.namespace, desired.name, { [pod]: true });
  await eventually(() => expect(bench.find(desired.name)?.instances.filter(({ ready }) => ready)).toHaveLength(1));
  return pod;
}

describe('createDeploymentWorkloads, writing', () => {
  it('makes what a workload is, owned by its function, in a namespace that takes restricted pods alone', async () => {
    const desired = testWorkload({ replicas: 2 });
    await bench.workloads.ensure(desired);
    for (const path of Object.values(paths(desired.name))) {
      const { metadata } = await bench.cluster.get<RawDeployment>(path);
      expect(metadata.ownerReferences).toEqual([
        expect.objectContaining({ kind: 'Function', name: 'hello', uid: desired.functionUid, controller: true }),
      ]);
    }
    const { data } = await bench.cluster.get<{ data: Record<string, string> }>(paths('').secret);
    expect(Buffer.from(data['token'] ?? '', 'base64').toString()).toBe(`token-of-${desired.functionUid}`);
    // Pod Security refuses a pod that it does not take.
    await bench.cluster.startPod(bench.namespace, desired.name);
    expect(bench.find(desired.name)).toMatchObject({ functionName: 'hello', revision: desired.revision, replicas: 2 });
  });

  it('K3: writes nothing a second time, also as another operator or at once', async () => {
    const desired = testWorkload({ replicas: 2, template: { memoryMiB: 2048, cpuMillis: 1000 } });
    await bench.workloads.ensure(desired);
    expect(bench.cluster.takeWrites()).toHaveLength(4);
    await bench.workloads.ensure(structuredClone(desired));
    const other = await bench.startWorkloads();
    await other.ensure(desired);
    await bench.workloads.ensure(desired);
    expect(bench.cluster.takeWrites()).toEqual([]);
  });

  it('scales by one write, with a disruption budget only where there are several', async () => {
    const desired = testWorkload();
    await bench.workloads.ensure(desired);
    await missing(paths(desired.name).budget);
    bench.cluster.takeWrites();
    await bench.workloads.ensure({ ...desired, replicas: 3 });
    expect(bench.cluster.takeWrites()).toEqual([
      `PATCH ${paths(desired.name).deployment}`,
      `PATCH ${paths(desired.name).budget}`,
    ]);
    await bench.workloads.ensure({ ...desired, replicas: 1 });
    expect((await deploymentOf(desired.name)).spec.replicas).toBe(1);
    await missing(paths(desired.name).budget);
    expect(bench.find(desired.name)?.replicas).toBe(1);
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
    await bench.workloads.ensure(desired);
    ensureAgain(desired);
    const { deployment } = paths(desired.name);
    const before = await deploymentOf(desired.name);
    await bench.cluster.edit(deployment, change, 'application/strategic-merge-patch+json');
    await eventually(async () => {
      const { spec, metadata } = await deploymentOf(desired.name);
      expect({ spec, labels: metadata.labels, owners: metadata.ownerReferences }).toEqual({
        spec: before.spec,
        labels: before.metadata.labels,
        owners: before.metadata.ownerReferences,
      });
    }, 10_000);
    bench.cluster.takeWrites();
    await bench.workloads.ensure(desired);
    expect(bench.cluster.takeWrites()).toEqual([]);
  });

  it('K2: reports that a Deployment is gone, and makes nothing of it again that is not desired', async () => {
    const desired = testWorkload();
    await bench.workloads.ensure(desired);
    const { service, deployment } = paths(desired.name);
    await bench.cluster.delete(deployment);
    await eventually(() => expect(bench.find(desired.name)).toBeUndefined());
    bench.cluster.takeWrites();
    await bench.cluster.edit(service, { spec: { externalIPs: ['192.0.2.1'] } });
    const another = testWorkload({ functionName: 'another' });
    await bench.workloads.ensure(another);
    await bench.cluster.edit(paths(another.name).deployment, { spec: { replicas: 7 } });
    // What came later is put right.
    await eventually(async () => expect((await deploymentOf(another.name)).spec.replicas).toBe(1), 10_000);
    expect(bench.cluster.takeWrites().filter((write) => write.includes(desired.name))).toEqual([]);
  });

  it('K2: makes again what others delete, and fixes the Service and the token', async () => {
    const desired = testWorkload();
    await bench.workloads.ensure(desired);
    ensureAgain(desired);
    const { service, secret, deployment } = paths(desired.name);
    const before = await Promise.all(
      [service, secret].map((path) => bench.cluster.get<{ spec?: object; data?: object }>(path)),
    );
    await bench.cluster.edit(service, { spec: { externalIPs: ['192.0.2.1'] } });
    await bench.cluster.edit(secret, { data: { token: 'eA==', more: 'eA==' } });
    await bench.cluster.delete(deployment);
    await eventually(async () => {
      const after = await Promise.all(
        [service, secret].map((path) => bench.cluster.get<{ spec?: object; data?: object }>(path)),
      );
      expect(after.map(({ spec, data }) => spec ?? data)).toEqual(before.map(({ spec, data }) => spec ?? data));
      await deploymentOf(desired.name);
    }, 10_000);
  });

  it('K2: leaves labels and annotations of others, on pods too', async () => {
    const desired = testWorkload();
    await bench.workloads.ensure(desired);
    const theirs = { labels: { team: 'a' }, annotations: { note: 'b' } };
    await bench.cluster.edit(paths(desired.name).deployment, {
      metadata: theirs,
      spec: { template: { metadata: theirs } },
    });
    await bench.workloads.ensure({ ...desired, replicas: 2 });
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
    await bench.cluster.create(service.slice(0, service.lastIndexOf('/')), {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: desired.name },
      spec,
    });
    await bench.workloads.ensure(desired);
    expect(bench.find(desired.name)).toMatchObject({
      instances: [],
      waiting: expect.stringMatching(new RegExp(`"${desired.name}".*: delete or rename it`)),
    });
    expect((await bench.cluster.get<{ spec: object }>(service)).spec).toMatchObject(spec);
    await missing(paths(desired.name).deployment);
    await bench.cluster.delete(service);
    await eventually(() => deploymentOf(desired.name).then(() => undefined));
    await eventually(() => expect(bench.find(desired.name)).not.toHaveProperty('waiting'));
  });

  it('reports once what is in the way of a workload that runs', async () => {
    const desired = testWorkload({ replicas: 2 });
    const { budget } = paths(desired.name);
    await bench.cluster.create(budget.slice(0, budget.lastIndexOf('/')), {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: desired.name },
      spec: { maxUnavailable: 1 },
    });
    await bench.workloads.ensure(desired);
    expect(bench.find(desired.name)).toMatchObject({
      replicas: 2,
      waiting: expect.stringContaining('does not belong to Wherry'),
    });
    expect(bench.logger.of('warn').map(({ message }) => message)).toEqual([bench.find(desired.name)?.waiting]);
  });

  it('makes again what is left of an earlier function of the name', async () => {
    const desired = testWorkload();
    await bench.workloads.ensure(desired);
    await readyPod(desired);
    const before = await deploymentOf(desired.name);
    await bench.workloads.ensure({ ...desired, functionUid: 'another-uid' });
    const after = await deploymentOf(desired.name);
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    expect(after.metadata.ownerReferences).toEqual([expect.objectContaining({ uid: 'another-uid' })]);
    await eventually(() => expect(bench.find(desired.name)?.instances).toEqual([]));
  });

  it('removes, and brings back without the instances that go', async () => {
    const desired = testWorkload();
    await bench.workloads.ensure(desired);
    await readyPod(desired);
    await bench.workloads.remove(desired.name);
    expect(bench.find(desired.name)).toBeUndefined();
    await missing(paths(desired.name).deployment);
    await bench.workloads.remove(desired.name);
    await bench.workloads.remove('never-was');
    await bench.workloads.ensure(desired);
    expect(bench.find(desired.name)).toMatchObject({ instances: [] });
    const pod = await bench.cluster.startPod(bench.namespace, desired.name);
    await eventually(() => expect(bench.find(desired.name)?.instances.map(({ id }) => id)).toEqual([`${pod}.0`]));
  });

  it('lets the instances go where the disruption budget cannot be deleted', async () => {
    const desired = testWorkload({ replicas: 2 });
    await bench.workloads.ensure(desired);
    await readyPod(desired);
    const { client } = bench.cluster;
    const request = client.request.bind(client);
    const requests = jest.spyOn(client, 'request');
    // The Deployment's removal reaches the server, the budget's does not.
    requests.mockImplementationOnce(request).mockRejectedValueOnce(new Error('the connection was lost'));
    await expect(bench.workloads.remove(desired.name)).rejects.toThrow('the connection was lost');
    requests.mockRestore();
    await missing(paths(desired.name).deployment);
    await bench.workloads.ensure(desired);
    expect(bench.find(desired.name)).toMatchObject({ instances: [] });
  });

  it('repairs only while it leads, and nothing after it rests', async () => {
    const clock = new FakeClock();
    bench.workloads = await bench.startWorkloads(clock);
    const desired = testWorkload();
    const { deployment } = paths(desired.name);
    await bench.workloads.ensure(desired);
    const editReplicas = async (replicas: number): Promise<string[]> => {
      bench.cluster.takeWrites();
      await bench.cluster.edit(deployment, { spec: { replicas } });
      await eventually(() => expect(bench.find(desired.name)?.replicas).toBe(replicas));
      await clock.advance(10_000);
      return bench.cluster.takeWrites();
    };
    bench.leads = false;
    expect(await editReplicas(7)).toEqual([]);
    bench.leads = true;
    expect(await editReplicas(8)).toEqual([`PATCH ${deployment}`]);
    await eventually(() => expect(bench.find(desired.name)?.replicas).toBe(1));
    bench.workloads.rest();
    expect(await editReplicas(9)).toEqual([]);
    await bench.workloads.ensure(desired);
    expect(bench.find(desired.name)?.replicas).toBe(1);
  });

  it('removes what belongs to no Deployment and no pod any more, after a while', async () => {
    const clock = new FakeClock(Date.now());
    bench.workloads = await bench.startWorkloads(clock);
    const desired = testWorkload({ replicas: 2 });
    const { service, secret } = paths(desired.name);
    await bench.workloads.ensure(desired);
    const pod = await bench.cluster.startPod(bench.namespace, desired.name);
    await eventually(() => expect(bench.find(desired.name)?.instances).toHaveLength(1));
    await bench.workloads.remove(desired.name);
    await clock.advance(120_000);
    expect(bench.cluster.takeWrites().filter((write) => write.startsWith('DELETE'))).toEqual([
      `DELETE ${paths(desired.name).deployment}`,
      `DELETE ${paths(desired.name).budget}`,
    ]);
    await bench.cluster.delete(`/api/v1/namespaces/${bench.namespace}/pods/${pod}?gracePeriodSeconds=0`);
    await eventually(async () => {
      await clock.advance(2000);
      await missing(service);
    });
    await bench.cluster.get(secret);
  });
});
