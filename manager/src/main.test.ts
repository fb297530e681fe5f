import { createHttpContentStore } from '@wherry/content/http-content-store.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { sealConfidential } from '@wherry/core/confidential/confidential-fields.ts';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { connectKube, type KubeClient } from '@wherry/kube/client/kube-client.ts';
import { startApiServer, type ApiServer } from '@wherry/kube/testing/api-server.ts';
import { startFaultProxy, type FaultProxy } from '@wherry/kube/testing/fault-proxy.ts';
import { installCrds, makeNamespace } from '@wherry/kube/testing/install-crds.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { keyRingOf, newKey, serializeKeysJson, type KeysJson } from '@wherry/service/keys/keys-json.ts';
import { createKeysSecret, MANAGEMENT_KEY, ManagerPlace, writeKeysSecret } from './testing/manager-program.ts';

const PATH = '/apis/wherry.dev/v1alpha1/namespaces';
let server: ApiServer;
let proxy: FaultProxy;
let kubectl: KubeClient;
let place: ManagerPlace;
let namespace: string;
let keys: KeysJson;
beforeAll(async () => {
  server = await startApiServer();
  proxy = await startFaultProxy(server);
  kubectl = await connectKube({ kubeconfig: server.kubeconfig, clock });
  await installCrds(kubectl);
}, 120_000);
afterAll(async () => {
  await kubectl.close();
  await proxy.stop();
  await server.stop();
});
beforeEach(async () => {
  place = new ManagerPlace();
  namespace = await makeNamespace(kubectl);
  keys = await createKeysSecret(kubectl, namespace);
});
afterEach(async () => {
  for (const lift of outages) lift();
  await place.remove();
});

const start = (environment: Record<string, string> = {}) =>
  place.start({
    KUBECONFIG: proxy.kubeconfig,
    WHERRY_NAMESPACE: namespace,
    WHERRY_SYSTEM_NAMESPACE: namespace,
    ...environment,
  });
const writeKeys = (text: string): Promise<unknown> => writeKeysSecret(kubectl, namespace, text);
const plural: Record<string, string> = {
  Function: 'functions',
  CodeSource: 'codesources',
  KeyGroup: 'keygroups',
  ApiKey: 'apikeys',
  FunctionSecret: 'functionsecrets',
  Settings: 'settings',
};

interface Made {
  metadata: {
    name: string;
    resourceVersion: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: unknown;
  };
  spec: Record<string, unknown>;
}

/** As `kubectl create` does it: nothing but what is written here. */
const create = (kind: string, name: string, spec: object, metadata: object = {}): Promise<Made> =>
  kubectl.request<Made>({
    method: 'POST',
    path: `${PATH}/${namespace}/${plural[kind]}`,
    body: { apiVersion: 'wherry.dev/v1alpha1', kind, metadata: { name, ...metadata }, spec },
  });
/** An API key that was encrypted with these keys, by its value. */
function createSealed(value: string, keyGroup: string, by: KeysJson): Promise<Made> {
  const owner = { kind: 'ApiKey', metadata: { namespace, name: value } } as const;
  return create('ApiKey', value, { keyGroup, value: sealConfidential(keyRingOf(by), owner, 'spec.value', value) });
}
const read = (kind: string, name: string): Promise<Made> =>
  kubectl.request<Made>({ method: 'GET', path: `${PATH}/${namespace}/${plural[kind]}/${name}` });
const remove = (kind: string, name: string): Promise<unknown> =>
  kubectl.request({ method: 'DELETE', path: `${PATH}/${namespace}/${plural[kind]}/${name}` });
const secret = (name: string, stringData: Record<string, string>): Promise<unknown> =>
  kubectl.request({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/secrets`,
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData },
  });

const HELLO = { name: 'Hello', handler: 'app/hello.ts', route: '/hello', methods: ['GET'] };
type View = Record<string, unknown> & { id: string };
/** The object of an answer; functions and keys are wrapped under a name. */
const one = (answer: { body: unknown }): View => {
  const { function: fn, key, ...plain } = answer.body as Record<string, View>;
  return fn ?? key ?? (plain as unknown as View);
};
/** How to end what was begun, also where the test fails meanwhile. */
const outages = new Set<() => void>();
function outage(end: () => void): () => void {
  const lift = (): void => {
    outages.delete(lift);
    end();
  };
  outages.add(lift);
  return lift;
}

describe('the manager as a program on a real API server', () => {
  it('makes the first key of its file once; a deleted one comes back only when none is left', async () => {
    const first = await start().ready();
    expect((await first.api('GET', '/api/keys')).status).toBe(200);
    const made = (await first.api('GET', '/api/keys')).body as { keys: View[] };
    expect(
      (await first.api('POST', '/api/keys', { groupId: 'management', name: 'mine', value: 'a-key-of-my-own-1' }))
        .status,
    ).toBe(201);
    expect((await first.api('DELETE', `/api/keys/${made.keys[0]!.id}`)).status).toBe(200);
    expect(await first.terminate()).toEqual([0, null]);

    const second = await start().ready();
    expect((await second.api('GET', '/api/keys')).status).toBe(401);
    const { keys } = (await second.api('GET', '/api/keys', undefined, 'a-key-of-my-own-1')).body as { keys: View[] };
    expect(keys.map(({ name }) => name)).toEqual(['mine']);
    await remove('ApiKey', keys[0]!.id);
    await second.terminate();

    const third = await start().ready();
    expect((await third.api('GET', '/api/keys')).status).toBe(200);
  }, 60_000);

  it("makes custom resources of REST calls, and an upload's blobs reach the operator", async () => {
    const manager = await start().ready();
    const { id } = one(await manager.api('POST', '/api/functions', HELLO));
    expect((await read('Function', id)).spec).toMatchObject({
      displayName: 'Hello',
      handler: 'app/hello.ts',
      route: '/hello',
    });
    const source = one(await manager.api('POST', '/api/sources', { name: 'app', type: 'manual' }));
    const put = await fetch(
      `http://127.0.0.1:${(await manager.ports()).management}/api/sources/${source.id}/files/hello.ts`,
      {
        method: 'PUT',
        headers: { 'x-api-key': MANAGEMENT_KEY, 'content-type': 'application/octet-stream' },
        body: 'export default 1;',
      },
    );
    expect(put.status).toBe(201);
    const content = createHttpContentStore({
      url: `https://127.0.0.1:${(await manager.ports()).internal}`,
      tls: { current: () => place.operator },
      logger: new FakeLogger(),
    });
    const { tree } = (await read('CodeSource', source.id)).spec['manual'] as { tree: string };
    expect((await content.get(tree)).toString()).toContain(sha256('export default 1;'));
    // Before the operator's caches have seen the new head, it does not refer to any of it.
    expect(await content.collect(new Set(), 3_600_000)).toBe(0);
    expect((await content.get(sha256('export default 1;'))).toString()).toBe('export default 1;');
    await content.stop();
  }, 30_000);

  it('answers writes and reads with 503 within 5 s while the API server is away or silent, and goes on after', async () => {
    const manager = await start().ready();
    const { id } = one(await manager.api('POST', '/api/functions', HELLO));
    const faults = [() => proxy.sever(), () => proxy.inject({ when: () => true, fault: { type: 'silence' } })];
    for (const begin of faults) {
      const end = outage(begin());
      const begun = machineTime();
      const answers = await Promise.all([
        manager.api('PUT', `/api/functions/${id}/disable`),
        manager.api('POST', '/api/functions', { ...HELLO, route: '/two' }),
        manager.api('GET', '/api/functions'),
        manager.api('DELETE', `/api/functions/${id}`),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
      expect(machineTime() - begun).toBeLessThan(5000);
      expect(JSON.stringify(answers)).not.toMatch(/127\.0\.0\.1|undici|\bat /);
      expect(await manager.readiness()).toBe('ok\n');
      end();
      await eventually(async () => expect((await manager.api('GET', `/api/functions/${id}`)).status).toBe(200));
    }
    expect((await manager.api('PUT', `/api/functions/${id}/disable`)).status).toBe(200);
  }, 60_000);

  it('serves content while the API server is away at its start, says why it is not ready, and is once it can be reached', async () => {
    const end = outage(proxy.sever());
    const manager = start();
    const { internal } = await manager.ports();
    const content = createHttpContentStore({
      url: `https://127.0.0.1:${internal}`,
      tls: { current: () => place.operator },
      logger: new FakeLogger(),
    });
    const { digest } = await content.put(Buffer.from('an artifact'));
    expect((await content.get(digest)).toString()).toBe('an artifact');
    expect(await manager.api('GET', '/api/functions')).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    await eventually(async () => expect(await manager.readiness()).toContain('The API server cannot be reached'));
    end();
    await manager.ready();
    expect((await manager.api('GET', '/api/functions')).status).toBe(200);
    await content.stop();
  }, 30_000);

  it('never shares its volume: the next one waits until it has ended', async () => {
    const first = await start().ready();
    const second = start();
    await eventually(() => expect(second.said).toContain('another manager is using the data directory'));
    expect(second.said).not.toContain('the manager is listening');
    expect(await first.terminate()).toEqual([0, null]);
    await second.ready();
    await second.kill();
    // The lock of a killed one is gone with it.
    await start().ready();
  }, 60_000);

  it('E4, FT12: is not ready with keys that are damaged or of other data, names their Secret, and shows nothing of it', async () => {
    await createSealed('sealed-with-the-right-key', 'team', keys);
    await writeKeys('{"keys":[{"secret":"canary"');
    const manager = start();
    await manager.ports();
    const says = (problem: string): Promise<void> =>
      eventually(async () =>
        expect(await manager.readiness()).toContain(`wherry-encryption-keys (keys.json) ${problem}`),
      );
    await says('is truncated or not JSON: ');
    expect((await manager.api('GET', '/api/keys')).status).toBe(503);
    expect(manager.said).not.toContain('canary');
    await writeKeys(serializeKeysJson({ ...keys, keys: [newKey(1, 0)] }));
    await says('is of another installation or older than the data');
    await writeKeys(serializeKeysJson(keys));
    await manager.ready();
    expect((await manager.api('GET', '/api/keys')).status).toBe(200);
  }, 30_000);

  it('E5: follows the encryption keys by a watch: what was sealed with new ones opens', async () => {
    const manager = await start().ready();
    const next = { ...keys, current: 2, keys: [...keys.keys, newKey(2, 0)] };
    await writeKeys(serializeKeysJson(next));
    await createSealed('sealed-with-the-new-key', 'management', next);
    await eventually(async () =>
      expect((await manager.api('GET', '/api/keys', undefined, 'sealed-with-the-new-key')).status).toBe(200),
    );
    expect(manager.said).toContain('"current":2');
  }, 40_000);
});

describe('objects that kubectl made', () => {
  const LABELS = {
    labels: { 'app.kubernetes.io/part-of': 'shop' },
    annotations: { 'argocd.argoproj.io/sync-wave': '2' },
  };

  it('appear in REST with their names and times, and can be edited without loss', async () => {
    const manager = await start().ready();
    await create('KeyGroup', 'partners', {}, LABELS);
    await create('CodeSource', 'shop', { type: 'manual' }, LABELS);
    await create(
      'Function',
      'orders',
      { handler: 'shop/orders.ts', route: '/orders/:id', methods: ['GET', 'POST'], keyGroups: ['partners'] },
      LABELS,
    );

    const shown = one(await manager.api('GET', '/api/functions/orders'));
    expect(shown).toMatchObject({
      id: 'orders',
      name: 'orders',
      enabled: true,
      timeoutSeconds: 30,
      keys: ['partners'],
      cors: null,
    });
    expect(Math.abs(Date.parse(String(shown['createdAt'])) - Date.now())).toBeLessThan(60_000);
    expect(shown['updatedAt']).toBe(shown['createdAt']);
    const { functions } = (await manager.api('GET', '/api/functions')).body as { functions: View[] };
    expect(functions.map(({ id }) => id)).toEqual(['orders']);

    // What REST shows, given back with one change, as a client does.
    const { name, handler, route, methods, keys, timeoutSeconds, scaling } = shown;
    expect(
      (
        await manager.api('PUT', '/api/functions/orders', {
          name,
          handler,
          route,
          methods,
          keys,
          timeoutSeconds,
          scaling,
          description: 'Orders.',
        })
      ).status,
    ).toBe(200);
    expect((await manager.api('PUT', '/api/functions/orders/disable')).status).toBe(200);
    const after = await read('Function', 'orders');
    expect(after.metadata).toMatchObject(LABELS);
    expect(after.spec).toMatchObject({
      route: '/orders/:id',
      keyGroups: ['partners'],
      description: 'Orders.',
      enabled: false,
    });

    expect(one(await manager.api('GET', '/api/key-groups/partners'))).toMatchObject({
      id: 'partners',
      name: 'partners',
    });
    expect((await manager.api('PUT', '/api/key-groups/partners', { description: 'Shops.' })).status).toBe(200);
    expect(await read('KeyGroup', 'partners')).toMatchObject({ metadata: LABELS, spec: { description: 'Shops.' } });

    expect(one(await manager.api('GET', '/api/sources/shop'))).toMatchObject({ id: 'shop', name: 'shop' });
    const put = await fetch(`http://127.0.0.1:${(await manager.ports()).management}/api/sources/shop/files/orders.ts`, {
      method: 'PUT',
      headers: { 'x-api-key': MANAGEMENT_KEY, 'content-type': 'application/octet-stream' },
      body: 'export default 1;',
    });
    expect(put.status).toBe(201);
    expect(await read('CodeSource', 'shop')).toMatchObject({
      metadata: LABELS,
      spec: { type: 'manual', manual: { tree: expect.stringMatching(/^[0-9a-f]{64}$/) } },
    });
    expect((await manager.api('DELETE', '/api/functions/orders')).status).toBe(204);
    await expect(read('Function', 'orders')).rejects.toMatchObject({ code: 'not_found' });
  }, 40_000);

  it('meet those of REST: a name that one has, the other refuses', async () => {
    const manager = await start().ready();
    await create('CodeSource', 'shop', { type: 'manual' });
    await create('KeyGroup', 'odd-name', { displayName: 'partners' });
    await create('Function', 'orders', { handler: 'shop/orders.ts', route: '/orders', methods: ['GET'] });
    expect((await manager.api('POST', '/api/sources', { name: 'shop', type: 'manual' })).status).toBe(409);
    expect((await manager.api('POST', '/api/key-groups', { name: 'partners' })).status).toBe(409);
    expect((await manager.api('POST', '/api/functions', { ...HELLO, route: '/orders' })).status).toBe(409);
  }, 30_000);

  it('may hold their values in Secrets: such a key opens the API, is shown, and keeps its reference when it is edited; without its Secret it opens nothing', async () => {
    const manager = await start().ready();
    await secret('my-keys', { ci: 'a-key-in-a-secret-1' });
    await create(
      'ApiKey',
      'ci',
      { keyGroup: 'management', value: { secretKeyRef: { name: 'my-keys', key: 'ci' } } },
      LABELS,
    );
    await eventually(async () =>
      expect((await manager.api('GET', '/api/keys', undefined, 'a-key-in-a-secret-1')).status).toBe(200),
    );
    expect(one(await manager.api('GET', '/api/keys/ci?includeValues=true'))).toMatchObject({
      id: 'ci',
      name: 'ci',
      value: 'a-key-in-a-secret-1',
    });
    expect((await manager.api('PUT', '/api/keys/ci', { description: 'CI' })).status).toBe(200);
    expect(await read('ApiKey', 'ci')).toMatchObject({
      metadata: LABELS,
      spec: { description: 'CI', value: { secretKeyRef: { name: 'my-keys', key: 'ci' } } },
    });
    // Where the value comes from is decided where it stands.
    expect(await manager.api('PUT', '/api/keys/ci', { value: 'a-value-written-over' })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('Secret my-keys, key ci') },
    });
    await kubectl.request({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}/secrets/my-keys` });
    await eventually(async () =>
      expect((await manager.api('GET', '/api/keys', undefined, 'a-key-in-a-secret-1')).status).toBe(401),
    );
  }, 40_000);

  it('may be secrets: they are listed beside those of REST, edited without loss, and deleted with their group', async () => {
    const manager = await start().ready();
    await secret('vault', { token: 'in-a-secret' });
    await create('KeyGroup', 'partners', {});
    const value = { secretKeyRef: { name: 'vault', key: 'token' } };
    await create('FunctionSecret', 'token', { name: 'TOKEN', scope: 'group', keyGroup: 'partners', value }, LABELS);
    const scope = { scope: 'group', groupId: 'partners' };
    const largest = 'ä'.repeat(32_768);
    const { id } = one(await manager.api('POST', '/api/secrets', { name: 'LARGEST', value: largest, ...scope }));
    expect((await read('FunctionSecret', id)).spec).toEqual({
      name: 'LARGEST',
      scope: 'group',
      keyGroup: 'partners',
      value: { encrypted: expect.any(String) },
    });
    expect((await manager.api('POST', '/api/secrets', { name: 'TOKEN', value: 'v', ...scope })).status).toBe(409);
    await eventually(async () =>
      expect((await manager.api('GET', '/api/secrets?includeValues=true&groupId=partners')).body).toMatchObject({
        secrets: [
          { id, name: 'LARGEST', value: largest },
          { id: 'token', name: 'TOKEN', value: 'in-a-secret', ...scope },
        ],
      }),
    );
    expect((await manager.api('PUT', '/api/secrets/token', { comment: 'c' })).status).toBe(200);
    expect(await read('FunctionSecret', 'token')).toMatchObject({ metadata: LABELS, spec: { comment: 'c', value } });
    expect((await manager.api('DELETE', '/api/key-groups/partners')).status).toBe(200);
    for (const gone of [id, 'token'])
      await expect(read('FunctionSecret', gone)).rejects.toMatchObject({ code: 'not_found' });
  }, 40_000);

  it('are refused for the same field as over REST', async () => {
    const manager = await start().ready();
    const bad = [
      [{ route: '/a//b' }, 'route'],
      [{ timeoutSeconds: 0 }, 'timeoutSeconds'],
      [{ methods: ['GET', 'GET'] }, 'methods'],
      [{ scaling: { minReplicas: 3, maxReplicas: 2 } }, 'scaling.maxReplicas'],
    ] as const;
    for (const [change, field] of bad) {
      const { name: _name, ...spec } = { ...HELLO, ...change };
      await expect(create('Function', 'bad', spec)).rejects.toMatchObject({
        code: 'validation_failed',
        message: expect.stringContaining(field.split('.')[0]!),
      });
      const answer = await manager.api('POST', '/api/functions', { ...HELLO, ...change });
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      expect(JSON.stringify(answer.body)).toContain(field.split('.')[0]);
    }
  }, 30_000);

  it('keep their Settings, with the mark of the first start beside them', async () => {
    await create('Settings', 'wherry', { values: { 'log.level': 'warn' } }, LABELS);
    const manager = await start().ready();
    expect((await manager.api('PUT', '/api/settings', { settings: { 'log.level': 'error' } })).status).toBe(200);
    expect(await read('Settings', 'wherry')).toMatchObject({
      metadata: LABELS,
      spec: { values: { 'log.level': 'error' } },
    });
  }, 30_000);
});
