import { eventually } from '@wherry/core/contracts/eventually.ts';
import { FakeLogger } from '@wherry/core/fakes/fake-logger.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { createReferencedSecrets } from './referenced-secrets.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
}, 120_000);
afterAll(() => cluster.stop());

describe('createReferencedSecrets', () => {
  it('R8: gives what a Secret holds, tells each change within a second, and forgets what is deleted', async () => {
    const namespace = await cluster.createNamespace();
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    await cluster.create(path, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys' }, stringData: { acme: 'wh_grüße' } });
    const secrets = createReferencedSecrets({ client: cluster.client, namespace, clock: systemClock, logger: new FakeLogger() });
    await secrets.start();
    try {
      expect(secrets.get('keys')).toEqual(new Map([['acme', 'wh_grüße']]));
      expect(secrets.get('none')).toBeUndefined();
      const seen: string[] = [];
      const stop = secrets.onChange((name) => void seen.push(name));
      await cluster.edit(`${path}/keys`, { stringData: { acme: 'changed', other: 'x' } });
      await eventually(() => expect(secrets.get('keys')).toEqual(new Map([['acme', 'changed'], ['other', 'x']])), 1000);
      await cluster.delete(`${path}/keys`);
      await eventually(() => expect(secrets.get('keys')).toBeUndefined(), 1000);
      expect(seen).toEqual(['keys', 'keys']);
      stop();
      await cluster.create(path, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'later' } });
      await eventually(() => expect(secrets.get('later')).toEqual(new Map()));
      expect(seen).toHaveLength(2);
    } finally {
      await secrets.stop();
    }
  });

  it('keeps nothing of the Secrets that Kubernetes and Helm have for themselves', async () => {
    const namespace = await cluster.createNamespace();
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    const data = { release: 'bGFyZ2U=' };
    await cluster.create(path, { apiVersion: 'v1', kind: 'Secret', type: 'helm.sh/release.v1', metadata: { name: 'release' }, data });
    const secrets = createReferencedSecrets({ client: cluster.client, namespace, clock: systemClock, logger: new FakeLogger() });
    await secrets.start();
    expect(secrets.get('release')).toEqual(new Map());
    await secrets.stop();
  });
});
