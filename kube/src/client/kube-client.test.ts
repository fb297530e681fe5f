import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect as openSocket, createServer as createTcpServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import type { DomainError } from '@wherry/core/errors.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { startApiServer, type ApiServer } from '../testing/api-server.ts';
import { startFaultProxy } from '../testing/fault-proxy.ts';
import { applyObject } from './apply-object.ts';
import { connectKube, type KubeClient, type RawEvent } from './kube-client.ts';
import type { KubeList, KubeObject } from './kube-object.ts';
import { listObjects } from './list-objects.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const PLAIN = 'swordfish-';

let server: ApiServer;
let client: KubeClient;
beforeAll(async () => {
  server = await startApiServer();
  client = await connect(server.kubeconfig);
}, 120_000);
afterAll(async () => {
  await client.close();
  await server.stop();
});

const connect = (kubeconfig: string) => connectKube({ kubeconfig, clock: systemClock });
const configMap = (name: string, data: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
const create = (name: string, data?: object) =>
  client.request<KubeObject>({ method: 'POST', path: MAPS, body: configMap(name, data) });

async function refusal(call: Promise<unknown>): Promise<DomainError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: 'DomainError' });
  return error as DomainError;
}

describe('KubeClient', () => {
  it('creates, reads and deletes', async () => {
    const created = await create('plain', { a: '1' });
    expect(await client.request({ method: 'GET', path: `${MAPS}/plain` })).toEqual(created);
    await client.request({ method: 'DELETE', path: `${MAPS}/plain` });
    const error = await refusal(client.request({ method: 'GET', path: `${MAPS}/plain` }));
    expect(error).toMatchObject({ code: 'not_found', message: 'configmaps "plain" does not exist' });
  });

  it('reports a name that is taken, and a stale resourceVersion, as conflicts', async () => {
    const created = await create('taken');
    expect(await refusal(create('taken'))).toMatchObject({
      code: 'conflict',
      message: 'configmaps "taken" already exists',
    });
    const put = () =>
      client.request({
        method: 'PUT',
        path: `${MAPS}/taken`,
        body: { ...created, data: { at: String(Math.random()) } },
      });
    await put();
    const error = await refusal(put());
    expect(error).toMatchObject({
      code: 'conflict',
      message: 'configmaps "taken" has changed since it was read: read it again and retry',
    });
  });

  it('names the fields that are not valid, and no value of them', async () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name: 'Not_A_Name' },
      stringData: { [`${PLAIN}!`]: PLAIN },
    };
    const error = await refusal(
      client.request({ method: 'POST', path: '/api/v1/namespaces/default/secrets', body: secret }),
    );
    expect(error.code).toBe('validation_failed');
    expect(error.details?.map((detail) => detail.path)).toEqual(
      expect.arrayContaining(['metadata.name', 'data[tls.crt]']),
    );
    expect(error.details?.find((detail) => detail.path === 'data[tls.crt]')?.message).toBe('is required');
    expect(JSON.stringify([error.message, error.details])).not.toContain('Not_A_Name": a');
  });

  it('names an unknown field and a field of a wrong type', async () => {
    const extra = await refusal(
      client.request({ method: 'POST', path: MAPS, body: { ...configMap('x'), colour: 'blue' } }),
    );
    expect(extra).toMatchObject({
      code: 'validation_failed',
      details: [{ path: 'colour', message: 'is not a known field' }],
    });
    const typed = await refusal(
      client.request({ method: 'POST', path: MAPS, body: { ...configMap('x'), immutable: PLAIN } }),
    );
    expect(typed).toMatchObject({
      code: 'validation_failed',
      details: [{ path: 'immutable', message: 'has the wrong type' }],
    });
    expect(typed.message).not.toContain(PLAIN);
  });

  it('reports an unknown kind as unavailable, and a missing namespace by its name', async () => {
    const kind = await refusal(
      client.request({ method: 'GET', path: '/apis/none.dev/v1/namespaces/default/things/x' }),
    );
    expect(kind.code).toBe('unavailable');
    expect(kind.message).toBe(
      'The API server does not know things.none.dev "x" in namespace "default": are the custom resource definitions installed?',
    );
    const gone = await refusal(
      client.request({ method: 'POST', path: '/api/v1/namespaces/nowhere/configmaps', body: configMap('x') }),
    );
    expect(gone).toMatchObject({ code: 'not_found', message: 'namespaces "nowhere" does not exist' });
  });

  it('names verb and resource that a role does not grant', async () => {
    const { kubeconfig } = await accountOf('nobody');
    const weak = await connect(kubeconfig);
    const error = await refusal(weak.request({ method: 'GET', path: `${MAPS}/x` }));
    expect(error).toMatchObject({ code: 'forbidden' });
    expect(error.message).toBe(
      '"system:serviceaccount:default:nobody" may not get configmaps (needed to read configmaps "x" in namespace "default"): grant it in the role',
    );
    await weak.close();
  });

  it('reads a rotated token at once when the old one is refused', async () => {
    const { kubeconfig, write } = await accountOf('rotated');
    const good = await readFile(kubeconfig, 'utf8');
    await write('not-a-token');
    const account = await connect(kubeconfig);
    const attempt = () => refusal(account.request({ method: 'GET', path: MAPS }));
    expect(await attempt()).toMatchObject({ code: 'unavailable', message: expect.stringContaining('credentials') });
    await writeFile(kubeconfig, good);
    expect(await attempt()).toMatchObject({ code: 'forbidden' });
    await account.close();
  });

  it('gives up after its limit, and when its signal aborts', async () => {
    const proxy = await startFaultProxy(server);
    proxy.inject({ when: () => true, fault: { type: 'silence' } });
    const silent = await connect(proxy.kubeconfig);
    const late = await refusal(silent.request({ method: 'GET', path: MAPS, timeoutMs: 100 }));
    expect(late).toMatchObject({
      code: 'unavailable',
      message: 'The API server did not answer in 0.1 s for configmaps in namespace "default"',
    });
    const stop = new AbortController();
    const reason = new Error('enough');
    const pending = silent.request({ method: 'GET', path: MAPS, signal: stop.signal });
    stop.abort(reason);
    await expect(pending).rejects.toBe(reason);
    await expect(silent.request({ method: 'GET', path: MAPS, signal: stop.signal })).rejects.toBe(reason);
    await silent.close();
    await proxy.stop();
  });

  it('reports a server that is not there, and one with another certificate, as unavailable', async () => {
    const text = await readFile(server.kubeconfig, 'utf8');
    const file = path.join(server.folder, 'other');
    await writeFile(file, text.replace(server.url, 'https://127.0.0.1:1'));
    expect((await refusal((await connect(file)).request({ method: 'GET', path: MAPS }))).message).toBe(
      'The API server cannot be reached (ECONNREFUSED)',
    );
    await writeFile(file, text.replace(/"certificate-authority-data":"[^"]*"/, '"tls-server-name":"else"'));
    expect((await refusal((await connect(file)).request({ method: 'GET', path: MAPS }))).message).toMatch(
      /cannot be reached \([A-Z_]+\)/,
    );
  });

  it('goes through the proxy that the kubeconfig names', async () => {
    const proxy = await startProxy();
    const file = path.join(server.folder, 'proxied');
    const text = await readFile(server.kubeconfig, 'utf8');
    await writeFile(file, text.replace('"server":', `"proxy-url":"${proxy.url}","server":`));
    const proxied = await connect(file);
    await proxied.request({ method: 'GET', path: MAPS });
    expect(proxy.targets).toEqual([new URL(server.url).host]);
    await proxied.close();
    await proxy.stop();
    await expect(refusal((await connect(file)).request({ method: 'GET', path: MAPS }))).resolves.toMatchObject({
      code: 'unavailable',
      message: 'The API server cannot be reached (ECONNREFUSED)',
    });
  });

  it('gives up a proxy that accepts the connection and does not answer', async () => {
    const silent = createTcpServer((socket) => void socket.on('error', () => undefined).resume());
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const file = path.join(server.folder, 'silent-proxy');
    const text = await readFile(server.kubeconfig, 'utf8');
    const proxy = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await writeFile(file, text.replace('"server":', `"proxy-url":"${proxy}","server":`));
    const proxied = await connect(file);
    await expect(refusal(proxied.request({ method: 'GET', path: MAPS }))).resolves.toMatchObject({
      code: 'unavailable',
    });
    await proxied.close();
    await once(silent.close(), 'close');
  });

  it('refuses to start with a kubeconfig that is none, naming it', async () => {
    await expect(connect('/nowhere/config')).rejects.toMatchObject({
      name: 'StartError',
      message: expect.stringContaining('/nowhere/config'),
    });
  });

  it('lists in pieces, as one state', async () => {
    const path = '/api/v1/namespaces/kube-public/configmaps';
    const names = Array.from({ length: 7 }, (_, index) => `piece-${index}`);
    for (const name of names) await client.request({ method: 'POST', path, body: configMap(name) });
    const pieces: unknown[] = [];
    const small: KubeClient = {
      ...client,
      request: async <T>(request: Parameters<KubeClient['request']>[0]) => {
        const list = await client.request<T & { items: unknown[] }>({
          ...request,
          query: { ...request.query, limit: 3 },
        });
        pieces.push(list.items.length);
        return list;
      },
    };
    const { items, resourceVersion } = await listObjects(small, { path });
    expect(items.map((item) => item.metadata.name)).toEqual(names);
    expect(pieces).toEqual([3, 3, 1]);
    expect(resourceVersion).toMatch(/^\d+$/);
  });

  it('applies fields as their manager, and leaves those of others', async () => {
    await create('shared', { theirs: '1' });
    const apply = (data: object) =>
      applyObject<KubeObject & { data: object }>(client, {
        path: `${MAPS}/shared`,
        fieldManager: 'ours',
        object: configMap('shared', data),
      });
    await apply({ a: '1', b: '2' });
    expect((await apply({ a: '3' })).data).toEqual({ theirs: '1', a: '3' });
  });

  it('watches until the server ends it, and until it is aborted', async () => {
    const { resourceVersion } = await listObjects(client, { path: MAPS });
    const stop = new AbortController();
    const events: RawEvent[] = [];
    await create('watched');
    const until = { signal: stop.signal, timeoutSeconds: 60 };
    for await (const event of client.watch({ path: MAPS, query: { resourceVersion }, ...until })) {
      events.push(event);
      stop.abort();
    }
    expect(events).toMatchObject([{ type: 'ADDED', object: { metadata: { name: 'watched' } } }]);
    const query = { resourceVersion, fieldSelector: 'metadata.name=nothing' };
    const { signal } = new AbortController();
    for await (const event of client.watch({ path: MAPS, query, signal, timeoutSeconds: 1 })) events.push(event);
    expect(events).toHaveLength(1);
  });
});

describe('KubeClient and a state that is no longer kept', () => {
  it('reports it as Expired, in a watch and in a list of pieces', async () => {
    const forgetful = await startApiServer({ flags: ['--watch-cache=false'] });
    const own = await connect(forgetful.kubeconfig);
    for (const name of ['a', 'b', 'c']) await own.request({ method: 'POST', path: MAPS, body: configMap(name) });
    const list = () => own.request<KubeList>({ method: 'GET', path: MAPS, query: { limit: 1 } });
    const { metadata } = await list();
    for (const name of ['d', 'e']) await own.request({ method: 'POST', path: MAPS, body: configMap(name) });
    await forgetful.compact((await list()).metadata.resourceVersion);

    const query = { resourceVersion: metadata.resourceVersion };
    const watch = own.watch({ path: MAPS, query, signal: new AbortController().signal, timeoutSeconds: 5 });
    const expired = { code: 'conflict', message: expect.stringMatching(/^Expired:/) };
    expect(await refusal(watch[Symbol.asyncIterator]().next())).toMatchObject(expired);
    const next = own.request({ method: 'GET', path: MAPS, query: { limit: 1, continue: metadata.continue } });
    expect(await refusal(next)).toMatchObject(expired);
    await own.close();
    await forgetful.stop();
  }, 60_000);
});

/** A kubeconfig of a service account without any role, and how to put another token into it. */
async function accountOf(name: string): Promise<{ kubeconfig: string; write(token: string): Promise<void> }> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await client.request({
    method: 'POST',
    path: accounts,
    body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
  });
  const tokenRequest = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = await client.request<{ status: { token: string } }>({
    method: 'POST',
    path: `${accounts}/${name}/token`,
    body: tokenRequest,
  });
  const kubeconfig = path.join(server.folder, name);
  const text = await readFile(server.kubeconfig, 'utf8');
  const write = (token: string) => writeFile(kubeconfig, text.replace(server.token, token));
  await write(status.token);
  return { kubeconfig, write };
}

/** An HTTP proxy on loopback that tunnels, as `proxy-url` names one, and the targets that it was given. */
async function startProxy(): Promise<{ url: string; targets: string[]; stop(): Promise<void> }> {
  const targets: string[] = [];
  const proxy = createServer();
  proxy.on('connect', (request, socket) => {
    targets.push(request.url ?? '');
    const { hostname, port } = new URL(`http://${request.url}`);
    const target = openSocket(Number(port), hostname, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    target.pipe(socket).pipe(target);
    for (const one of [socket, target]) one.on('error', () => target.destroy(void socket.destroy()));
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const stop = async () => void (await once(proxy.close(), 'close'));
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, targets, stop };
}
