import supertest from 'supertest';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { AuditTrail } from '../audit/audit-trail.ts';
import { Auditor } from '../audit/auditor.ts';
import { ALL_ENDPOINTS } from '../openapi/all-endpoints.ts';
import { KEY, rawRequest, startTestManager, type RawAnswer, type TestManager } from '../testing/test-manager.ts';
import { endpoint, type AnyEndpoint } from './endpoint.ts';
import { EventStreams } from './event-stream.ts';
import { InProcessAuditStore } from '../testing/in-process-audit-store.ts';
import { mountEndpoints, type RequestState } from './mount-endpoints.ts';
import { PERMISSIONS, type CallerKind } from './principal.ts';
import { Browser, createUser } from '../testing/browser.ts';
import { ROLES, type Role } from '../users/user-record.ts';

type Credential = 'none' | 'management' | 'other group' | 'disabled' | 'expired' | 'deleted' | 'revoked group';

const rest = {
  stateOf: (): RequestState => ({
    requestId: '',
    principal: undefined,
    clientAddress: null,
    shownKey: undefined,
    connection: { host: '', isPlain: false, origin: 'unknown' },
    claimant: () => ({ type: 'key', id: null, name: '' }),
  }),
  auditor: new Auditor(
    new AuditTrail({ store: new InProcessAuditStore(), clock: new FakeClock(), logger: new FakeLogger() }),
    new FakeClock(),
    () => false,
  ),
  clock: new FakeClock(),
  duration: { observe: () => undefined },
  authenticate: () => undefined,
  streams: new EventStreams(new FakeClock()),
};

describe('permissions (M5, M5a): every route with every credential', () => {
  let manager: TestManager;
  const values: Record<Credential, string> = {
    none: '',
    management: KEY,
    'other group': 'key-of-another-group',
    disabled: 'disabled-management-key',
    expired: 'expired-management-key',
    deleted: 'deleted-management-key',
    'revoked group': 'key-of-a-revoked-group',
  };

  beforeAll(async () => {
    manager = await startTestManager();
    const api = supertest.agent(manager.server).set('X-API-Key', KEY);
    const create = async (groupId: string, name: string, value: string): Promise<string> => {
      const answer = await api.post('/api/keys').send({ groupId, name, value }).expect(201);
      return (answer.body as { id: string }).id;
    };
    await api.post('/api/key-groups').send({ name: 'other' }).expect(201);
    await api.post('/api/key-groups').send({ name: 'revoked' }).expect(201);
    await create('other', 'key', values['other group']);
    await api
      .put('/api/settings')
      .send({ settings: { 'api.access-groups': 'management,revoked' } })
      .expect(200);
    await create('revoked', 'key', values['revoked group']);
    await api.get('/api/functions').set('X-API-Key', values['revoked group']).expect(200);
    await api
      .put('/api/settings')
      .send({ settings: { 'api.access-groups': 'management' } })
      .expect(200);
    const disabled = await create('management', 'disabled', values.disabled);
    await api.put(`/api/keys/${disabled}`).send({ enabled: false }).expect(200);
    const expired = await create('management', 'expired', values.expired);
    await api
      .put(`/api/keys/${expired}`)
      .send({ expiresAt: new Date(manager.clock.now()).toISOString() })
      .expect(200);
    const deleted = await create('management', 'deleted', values.deleted);
    await api.delete(`/api/keys/${deleted}`).expect(200);
    for (const role of ['admin', 'editor', 'viewer'] as const) await createUser(manager, `${role}@example.com`, role);
  });
  afterAll(() => manager.stop());

  const pathOf = ({ path }: AnyEndpoint, query = ''): string =>
    path.replace('{*path}', 'a.ts').replace(/:\w+/g, 'unknown') + query;

  const table = ALL_ENDPOINTS.flatMap((declared) =>
    (Object.keys(values) as Credential[]).map((credential) => [declared.operationId, credential, declared] as const),
  );

  it.each(table)('%s with credential: %s', async (_id, credential, declared: AnyEndpoint) => {
    // Each in a minute of its own: more bad keys in one would be throttled (M10).
    await manager.clock.advance(60_000);
    const answer = await rawRequest(manager, {
      method: declared.method.toUpperCase(),
      path: pathOf(declared),
      headers: { 'x-api-key': values[credential] },
    });
    expectAnswer(answer, declared, credential === 'management' ? 'key' : 'anonymous');
  });

  const sessions = ALL_ENDPOINTS.flatMap((declared) =>
    ROLES.map((role) => [declared.operationId, role, declared] as const),
  );

  it.each(sessions)('%s with a session of: %s', async (_id, role: Role, declared: AnyEndpoint) => {
    const user = await new Browser(manager).signIn(`${role}@example.com`);
    const answer = await rawRequest(manager, {
      method: declared.method.toUpperCase(),
      path: pathOf(declared),
      headers: asBrowser(user),
      key: undefined,
    });
    expectAnswer(answer, declared, role);
  });

  const changes = ALL_ENDPOINTS.filter(({ method }) => method !== 'get');

  it.each(changes.map((declared) => [declared.operationId, declared] as const))(
    'M4a: refuses %s of a session from a page of another origin, or of an unknown one',
    async (_id, declared) => {
      const { cookie } = await new Browser(manager).signIn('admin@example.com');
      for (const from of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, {}]) {
        const headers = { host: 'localhost:9000', cookie, ...from };
        const answer = await rawRequest(manager, {
          method: declared.method.toUpperCase(),
          path: pathOf(declared),
          headers,
          key: undefined,
        });
        const isGone = declared.operationId === 'setUp';
        expect([from, answer.status]).toEqual([from, isGone ? 404 : 403]);
      }
    },
  );

  it.each(ALL_ENDPOINTS.filter(({ audit }) => audit?.flag !== undefined).map((one) => [one.operationId, one] as const))(
    '%s reads values for an editor, and not for a viewer',
    async (_id, declared) => {
      const answers = await Promise.all(
        (['viewer', 'editor'] as const).map(async (role) =>
          rawRequest(manager, {
            method: 'GET',
            path: pathOf(declared, `?${declared.audit?.flag ?? ''}=true`),
            headers: asBrowser(await new Browser(manager).signIn(`${role}@example.com`)),
            key: undefined,
          }),
        ),
      );
      expect(answers[0]?.status).toBe(403);
      expect([200, 404]).toContain(answers[1]?.status);
    },
  );

  it('does not mount a route that changes something without an audit action (M9)', () => {
    const { audit, ...declared } = endpoint({
      operationId: 'silent',
      method: 'post',
      path: '/api/silent',
      tag: 'x',
      summary: 'x',
      permission: 'edit',
      audit: { action: 'x.make', kind: 'X' },
      status: 200,
      reply: {},
      errors: [],
    });
    const mount = (declaration: object): object =>
      mountEndpoints({ routes: [{ endpoint: declaration as AnyEndpoint, handle: async () => ({}) }], ...rest });
    expect(() => mount(declared)).toThrow('silent declares no audit action');
    expect(() => mount({ ...declared, audit })).not.toThrow();
  });

  it('does not mount a route without a permission', () => {
    const declared = {
      ...endpoint({
        operationId: 'open',
        method: 'get',
        path: '/api/open',
        tag: 'x',
        summary: 'x',
        permission: 'edit',
        status: 200,
        reply: {},
        errors: [],
      }),
      permission: undefined,
    } as unknown as AnyEndpoint;
    const routes = [{ endpoint: declared, handle: async () => ({}) }];
    expect(() => mountEndpoints({ routes, ...rest })).toThrow('open declares no permission');
  });

  it('lets nobody in before it knows the keys, and a key expire while it is in use', async () => {
    const api = supertest.agent(manager.server);
    await manager.clock.advance(60_000);
    const expiresAt = new Date(manager.clock.now() + 60_000).toISOString();
    await api
      .post('/api/keys')
      .set('X-API-Key', KEY)
      .send({ groupId: 'management', name: 'short', value: 'a-short-lived-key-value', expiresAt })
      .expect(201);
    await api.get('/api/functions').set('X-API-Key', 'a-short-lived-key-value').expect(200);
    manager.clock.jump(60_000);
    await api.get('/api/functions').set('X-API-Key', 'a-short-lived-key-value').expect(401);
  });
});

const asBrowser = ({ cookie }: Browser): Record<string, string> => ({
  host: 'localhost:9000',
  'sec-fetch-site': 'same-origin',
  cookie,
});

/** What a caller gets who sends neither a body nor an id that exists. */
function expectAnswer({ status }: RawAnswer, { permission, operationId }: AnyEndpoint, caller: CallerKind): void {
  const callers: readonly CallerKind[] = PERMISSIONS[permission];
  if (operationId === 'setUp') expect(status).toBe(404);
  // The public webhook refuses what is not proved, whoever calls.
  else if (operationId === 'deliverWebhook') expect(status).toBe(401);
  else if (callers.includes(caller)) expect([200, 201, 204, 302, 400, 404, 415]).toContain(status);
  else expect(status).toBe(caller === 'anonymous' || permission === 'session' ? 401 : 403);
}
