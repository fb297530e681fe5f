import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { systemClock } from '@wherry/service/clock.ts';
import type { KubeObject } from '../client/kube-object.ts';
import { createObjectCache, type ObjectCache } from '../object-cache.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { FUNCTION_UID_ANNOTATION, MANAGED_BY_LABEL } from './names.ts';
import { OwnedObjects } from './owned-objects.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
}, 120_000);
afterAll(() => cluster.stop());

describe('OwnedObjects', () => {
  let cache: ObjectCache<KubeObject>;
  let objects: OwnedObjects<KubeObject>;
  let path: string;
  const metadata = {
    name: 'x',
    labels: { [MANAGED_BY_LABEL]: 'wherry' },
    annotations: { [FUNCTION_UID_ANNOTATION]: 'u1' },
  };
  /** Half of its fields are the API server's. */
  const desired = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  };
  beforeEach(async () => {
    path = `/apis/apps/v1/namespaces/${await cluster.createNamespace()}/deployments`;
    cache = createObjectCache<KubeObject>({
      client: cluster.client,
      path,
      clock: systemClock,
      logger: new FakeLogger(),
    });
    objects = new OwnedObjects({ client: cluster.client, cache, path });
    await cache.start();
    cluster.takeWrites();
  });
  afterEach(() => cache.stop());

  it('K3: learns what the API server fills in, and fights it once', async () => {
    await objects.apply(desired);
    cluster.takeWrites();
    await objects.apply(desired);
    expect(cluster.takeWrites()).toHaveLength(1);
    await objects.apply(desired);
    expect(cluster.takeWrites()).toEqual([]);
    expect(objects.isAsDesired(desired)).toBe(true);
  });

  it('refuses an object that came in the way unseen, and leaves it as it is', async () => {
    await cache.stop();
    const foreign = { ...desired, metadata: { name: 'x' }, spec: { ...desired.spec, replicas: 4 } };
    const before = await cluster.create(path, {
      ...foreign,
      spec: {
        ...foreign.spec,
        selector: { matchLabels: { c: 'd' } },
        template: { ...foreign.spec.template, metadata: { labels: { c: 'd' } } },
      },
    });
    await expect(objects.apply(desired)).rejects.toMatchObject({
      name: 'NotOursError',
      message: expect.stringContaining('deployments.apps "x"'),
    });
    expect(await cluster.get(`${path}/x`)).toEqual(before);
  });

  it('knows what it wrote and deleted before the cache does', async () => {
    await cache.stop();
    await objects.apply(desired);
    expect(objects.get('x')).toBeDefined();
    expect(objects.list()).toHaveLength(1);
    await objects.delete('x');
    expect(objects.get('x')).toBeUndefined();
    await objects.apply(desired);
    expect(objects.get('x')).toBeDefined();
  });
});
