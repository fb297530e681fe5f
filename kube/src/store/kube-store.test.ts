import { described, group, refusal } from '@wherry/testing/contracts/resource-store-samples.ts';
import { resourceStoreContract } from '@wherry/testing/contracts/resource-store-contract.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { DomainError } from '@wherry/core/errors.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { systemClock } from '@wherry/service/clock.ts';
import type { KubeObject } from '../client/kube-object.ts';
import { installCrds, makeNamespace } from '../testing/install-crds.ts';
import { useApiServer } from '../testing/use-api-server.ts';
import { KubeStore } from './kube-store.ts';

const api = useApiServer();
beforeAll(() => installCrds(api.client), 60_000);

const open = async () => {
  const namespace = await makeNamespace(api.client);
  return new KubeStore({ client: api.client, namespace, clock: systemClock, logger: new FakeLogger() });
};

resourceStoreContract(
  'The store on kube-apiserver',
  async () => ({ store: await open(), close: async () => undefined }),
  { runs: 15 },
);

describe('The store on kube-apiserver: what others do there', () => {
  const pathOf = (namespace: string, name: string) =>
    `/apis/wherry.dev/v1alpha1/namespaces/${namespace}/keygroups/${name}`;
  const patch = (path: string, body: object) =>
    api.client.request<KubeObject & { spec: object }>({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body,
    });

  it('K2: keeps owners and managed fields of an object, in updates of spec and status', async () => {
    const store = await open();
    await store.create(group('team'));
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '1b4e28ba-2fa1-11d2-883f-0016d3cca427' };
    await patch(pathOf(store.namespace, 'team'), { metadata: { ownerReferences: [owner] } });
    const updated = await store.update(described((await store.get('KeyGroup', 'team'))!, 'x'));
    await store.updateStatus({ ...updated, status: { keys: 1 } });
    const raw = await api.client.request<KubeObject>({ method: 'GET', path: pathOf(store.namespace, 'team') });
    expect(raw.metadata.ownerReferences).toEqual([owner]);
    expect(updated.metadata).not.toHaveProperty('ownerReferences');
  });

  it('K5: returns objects that it does not understand as they are, once in the log, and all others', async () => {
    const logger = new FakeLogger();
    const namespace = await makeNamespace(api.client);
    const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/keygroups.wherry.dev';
    const path = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/colour';
    const change = (operations: object) =>
      api.client.request({ method: 'PATCH', path: crd, contentType: 'application/json-patch+json', body: operations });
    await change([{ op: 'add', path, value: { type: 'string' } }]);
    const store = new KubeStore({ client: api.client, namespace, clock: systemClock, logger });
    await store.create(group('a'));
    await store.create(group('b'));
    await eventually(async () => {
      expect((await patch(pathOf(namespace, 'a'), { spec: { colour: 'blue' } })).spec).toHaveProperty('colour');
    });
    expect((await store.get('KeyGroup', 'a'))?.spec).toEqual({ colour: 'blue' });
    expect((await store.list('KeyGroup')).items.map((item) => item.metadata.name)).toEqual(['a', 'b']);
    expect(logger.lines.map((line) => line.fields)).toEqual([{ object: 'KeyGroup "a"', part: 'spec' }]);
    await change([{ op: 'remove', path }]);
  });

  it('reports a namespace that is missing, and a role that is too small, as unavailable: no fault of the caller', async () => {
    const missing = new KubeStore({
      client: api.client,
      namespace: 'nowhere',
      clock: systemClock,
      logger: new FakeLogger(),
    });
    const gone = await refusal(missing.create(group('team')), 'unavailable');
    expect(gone.message).toBe('namespaces "nowhere" does not exist');
    const forbidding = { ...api.client, request: () => Promise.reject(new DomainError('forbidden', 'may not')) };
    const store = new KubeStore({ client: forbidding, namespace: 'x', clock: systemClock, logger: new FakeLogger() });
    await refusal(store.get('KeyGroup', 'team'), 'unavailable');
  });

  it('names the field of what the API server alone refuses', async () => {
    const details = [{ path: 'spec.route', message: 'must not be taken' }];
    const refusing = {
      ...api.client,
      request: () => Promise.reject(new DomainError('validation_failed', 'no', details)),
    };
    const store = new KubeStore({ client: refusing, namespace: 'x', clock: systemClock, logger: new FakeLogger() });
    const error = await refusal(store.create(group('team')), 'validation_failed');
    expect(error.message).toBe('KeyGroup "team" is not valid: spec.route: must not be taken');
    expect(error.details).toEqual(details);
  });
});
