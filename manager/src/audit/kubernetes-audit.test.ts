import { eventually } from '@wherry/testing/eventually.ts';
import { connectKube, type KubeClient, type KubeRequest } from '@wherry/kube/client/kube-client.ts';
import { startApiServer, type ApiServer } from '@wherry/kube/testing/api-server.ts';
import { installCrds, makeNamespace } from '@wherry/kube/testing/install-crds.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createKeysSecret, ManagerPlace } from '../testing/manager-program.ts';
import type { AuditPage, AuditRecordView } from './audit-schemas.ts';

type Program = ReturnType<ManagerPlace['start']>;
type Fact = [actor: string, action: string, id: string | null, name: string | null];

let server: ApiServer;
let client: KubeClient;
let place: ManagerPlace;
let namespace: string;
beforeAll(async () => {
  server = await startApiServer();
  client = await connectKube({ kubeconfig: server.kubeconfig, clock });
  await installCrds(client);
}, 120_000);
afterAll(async () => {
  await client.close();
  await server.stop();
});
beforeEach(async () => {
  place = new ManagerPlace();
  namespace = await makeNamespace(client);
  await createKeysSecret(client, namespace);
});
afterEach(() => place.remove());

const start = (): Promise<Program> =>
  place
    .start({ KUBECONFIG: server.kubeconfig, WHERRY_NAMESPACE: namespace, WHERRY_SYSTEM_NAMESPACE: namespace })
    .ready();

/** A request as kubectl sends it; `manager` is what it calls itself. */
const kubectl = (manager: string, request: Omit<KubeRequest, 'path'> & { path: string }): Promise<unknown> =>
  client.request({
    ...request,
    path: `/apis/wherry.dev/v1alpha1/namespaces/${namespace}/${request.path}`,
    ...(request.method !== 'DELETE' && { query: { ...request.query, fieldManager: manager } }),
  });
const group = (name: string, spec: object = {}): object => ({
  apiVersion: 'wherry.dev/v1alpha1',
  kind: 'KeyGroup',
  metadata: { name },
  spec,
});
const create = (name: string, spec?: object, manager = 'kubectl-create'): Promise<unknown> =>
  kubectl(manager, { method: 'POST', path: 'keygroups', body: group(name, spec) });
const merge = (path: string, body: object, manager = 'kubectl-edit'): Promise<unknown> =>
  kubectl(manager, { method: 'PATCH', path, contentType: 'application/merge-patch+json', body });

async function records(manager: Program): Promise<AuditRecordView[]> {
  const { body } = await manager.api('GET', '/api/audit?limit=1000');
  return (body as AuditPage).data.records.filter(({ actor }) => actor.type === 'kubernetes').reverse();
}
const factsOf = async (manager: Program): Promise<Fact[]> =>
  (await records(manager)).map(({ actor, action, object }) => [actor.name, action, object.id, object.name]);
const expectFacts = (manager: Program, facts: Fact[]): Promise<void> =>
  eventually(async () => expect(await factsOf(manager)).toEqual(facts));

describe('audit records of what came by kubectl (M9)', () => {
  it('name client, operation and subresource, and of what no managed field knows that it is unknown', async () => {
    const manager = await start();
    const facts: Fact[] = [['kubectl-create', 'key-group.create', 'team', 'the-team']];
    await create('team', { displayName: 'the-team', description: 'CANARY' });
    await expectFacts(manager, facts);
    await merge('keygroups/team', { spec: { description: 'CANARY-2' } });
    facts.push(['kubectl-edit', 'key-group.update', 'team', 'the-team']);
    await expectFacts(manager, facts);
    const body = group('team', { displayName: 'new-name' });
    const contentType = 'application/apply-patch+yaml';
    await kubectl('argocd', { method: 'PATCH', path: 'keygroups/team', contentType, body, query: { force: true } });
    facts.push(['argocd', 'key-group.apply', 'team', 'new-name']);
    await expectFacts(manager, facts);
    await merge('keygroups/team/status', { status: { keys: 7 } }, 'a-person');
    facts.push(['a-person', 'key-group.update-status', 'team', 'new-name']);
    await expectFacts(manager, facts);
    // Who takes a field away is in no managed fields; that it is gone is seen.
    await merge('keygroups/team', { spec: { description: null } });
    facts.push(['(unknown)', 'key-group.update', 'team', 'new-name']);
    await expectFacts(manager, facts);
    // Nobody hides behind Wherry's own name.
    await merge('keygroups/team', { spec: { description: 'CANARY-3' } }, 'wherry');
    facts.push(['(unknown)', 'key-group.update', 'team', 'new-name']);
    await expectFacts(manager, facts);
    await kubectl('', { method: 'DELETE', path: 'keygroups/team' });
    facts.push(['(unknown)', 'key-group.delete', 'team', 'new-name']);
    await expectFacts(manager, facts);
    const all = await records(manager);
    expect(all[0]).toMatchObject({ actor: { id: null }, result: 'ok', requestId: null, clientAddress: null });
    expect(JSON.stringify(all)).not.toContain('CANARY');
  }, 60_000);

  it('have the time at which a writer without one was seen, and do not repeat it after a restart', async () => {
    const first = await start();
    await create('team', {}, 'kubectl-client-side-apply');
    const facts: Fact[] = [['kubectl-client-side-apply', 'key-group.create', 'team', 'team']];
    await expectFacts(first, facts);
    // As `kubectl apply --server-side` leaves what a client-side apply wrote before.
    const managedFields = [
      {
        manager: 'kubectl',
        operation: 'Apply',
        apiVersion: 'wherry.dev/v1alpha1',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': {} },
      },
    ];
    const body = [{ op: 'replace', path: '/metadata/managedFields', value: managedFields }];
    const contentType = 'application/json-patch+json';
    await kubectl('kubectl', { method: 'PATCH', path: 'keygroups/team', contentType, body });
    facts.push(['kubectl', 'key-group.apply', 'team', 'team']);
    await expectFacts(first, facts);
    const [created, applied] = (await records(first)).map(({ timestamp }) => Date.parse(timestamp));
    expect(applied).toBeGreaterThanOrEqual(created ?? Infinity);
    await first.terminate();
    const second = await start();
    await create('later');
    await expectFacts(second, [...facts, ['kubectl-create', 'key-group.create', 'later', 'later']]);
  }, 60_000);

  it('do not repeat what came by REST, however close together', async () => {
    const manager = await start();
    const api = async (method: string, target: string, body?: object): Promise<{ id: string }> =>
      (await manager.api(method, target, body)).body as { id: string };
    await Promise.all(
      Array.from({ length: 5 }, async (_, index) => {
        const { id } = await api('POST', '/api/key-groups', { name: `team-${index}`, description: 'a' });
        for (const description of ['b', null, 'c', null]) await api('PUT', `/api/key-groups/${id}`, { description });
        await api('POST', '/api/secrets', { name: 'S', value: 'v', scope: 'group', groupId: id });
        if (index > 2) await api('DELETE', `/api/key-groups/${id}`);
      }),
    );
    await create('sentinel');
    // Objects of other kinds are looked at in their own order.
    await eventually(async () => expect(await factsOf(manager)).toHaveLength(1));
    await manager.api('POST', '/api/key-groups', { name: 'last' });
    await create('last-sentinel');
    await expectFacts(manager, [
      ['kubectl-create', 'key-group.create', 'sentinel', 'sentinel'],
      ['kubectl-create', 'key-group.create', 'last-sentinel', 'last-sentinel'],
    ]);
  }, 60_000);

  it('are caught up on after a restart, once each, without what a manager before it encrypted again', async () => {
    const first = await start();
    await create('seen');
    const seen: Fact = ['kubectl-create', 'key-group.create', 'seen', 'seen'];
    await expectFacts(first, [seen]);
    await first.api('POST', '/api/secrets', { name: 'S', value: 'v', scope: 'global' });
    const { body } = await first.api('POST', '/api/encryption-keys/rotation');
    expect(body).toMatchObject({ message: 'Encryption key version 2 is active, and all 2 encrypted values use it.' });
    await first.kill();
    await create('missed');
    const second = await start();
    const missed: Fact = ['kubectl-create', 'key-group.create', 'missed', 'missed'];
    await expectFacts(second, [seen, missed]);
    await second.terminate();
    const third = await start();
    await create('later');
    await expectFacts(third, [seen, missed, ['kubectl-create', 'key-group.create', 'later', 'later']]);
  }, 60_000);
});
