import { testCluster } from '../cluster/test-cluster.ts';
import { eventually, type Answer } from '../testing/api-client.ts';
import { definition, otherValue, READY, useObjects, value } from '../testing/use-objects.ts';

/*
 * The six kinds as kubectl and the REST API see them: the same objects, and what kubectl shows of them and does to
 * them.
 */

const cluster = testCluster();
const suite = useObjects();
const { objects, rest } = suite;

/** One kind both ways: what REST makes and changes, and what kubectl does. */
interface Kind {
  path: string;
  made: { body: object; id: (answer: any) => string; spec: object };
  changed: { body: object; spec: object };
  applied: { spec: object; view: object };
  patched: { spec: object; view: object };
  view: (answer: any) => object;
}

const KINDS: Record<string, Kind> = {
  KeyGroup: {
    path: '/api/key-groups',
    made: {
      body: { name: 'by_rest', description: 'made' },
      id: ({ id }) => id,
      spec: { displayName: 'by_rest', description: 'made' },
    },
    changed: { body: { description: 'changed' }, spec: { displayName: 'by_rest', description: 'changed' } },
    applied: { spec: { description: 'applied' }, view: { name: 'by-kubectl', description: 'applied', keyCount: 0 } },
    patched: { spec: { description: null }, view: { name: 'by-kubectl', description: null } },
    view: (answer) => answer,
  },
  ApiKey: {
    path: '/api/keys',
    made: {
      body: { groupId: 'management', name: 'by_rest' },
      id: ({ id }) => id,
      spec: { keyGroup: 'management', displayName: 'by_rest', enabled: true, value: { encrypted: expect.any(String) } },
    },
    changed: { body: { enabled: false, description: 'changed' }, spec: { enabled: false, description: 'changed' } },
    applied: {
      spec: { keyGroup: 'management', enabled: false, value },
      view: { name: 'by-kubectl', groupId: 'management', enabled: false },
    },
    patched: {
      spec: { description: 'patched', expiresAt: '2035-01-01T00:00:00Z' },
      view: { description: 'patched', expiresAt: '2035-01-01T00:00:00.000Z' },
    },
    view: ({ key }) => key,
  },
  CodeSource: {
    path: '/api/sources',
    made: {
      body: { name: 'By_Rest', type: 'manual' },
      id: ({ id }) => id,
      spec: { displayName: 'By_Rest', type: 'manual', enabled: true },
    },
    changed: { body: { enabled: false }, spec: { displayName: 'By_Rest', enabled: false } },
    applied: {
      spec: { type: 'manual', displayName: 'ByKubectl' },
      view: { name: 'ByKubectl', type: 'manual', enabled: true, revision: null },
    },
    patched: { spec: { enabled: false }, view: { name: 'ByKubectl', enabled: false } },
    view: (answer) => answer,
  },
  Function: {
    path: '/api/functions',
    made: {
      body: { name: 'By REST', ...definition('nowhere/a.js', '/by-rest'), cors: { origins: ['*'] } },
      id: (answer) => answer.function.id,
      spec: { displayName: 'By REST', route: '/by-rest', timeoutSeconds: 30, cors: { origins: ['*'], maxAge: 86_400 } },
    },
    changed: {
      body: { name: 'By REST', ...definition('nowhere/b.js', '/by-rest'), timeoutSeconds: 5 },
      spec: { handler: 'nowhere/b.js', timeoutSeconds: 5 },
    },
    applied: {
      spec: definition('nowhere/c.js', '/by-kubectl'),
      view: { name: 'by-kubectl', route: '/by-kubectl', enabled: true, keys: null, timeoutSeconds: 30 },
    },
    patched: {
      spec: { enabled: false, maxConcurrency: 3 },
      view: { enabled: false, maxConcurrency: 3, status: { reason: 'Disabled' } },
    },
    view: (answer) => answer.function,
  },
};

describe.each(Object.entries(KINDS))('a %s', (kind, { path, made, changed, applied, patched, view }) => {
  it('that REST makes, changes and deletes is the object that kubectl has; what others wrote on it stays', async () => {
    const id = made.id(await rest('POST', path, made.body));
    expect((await objects.get(kind, id)).spec).toMatchObject(made.spec);
    await objects.kubectl('label', kind, id, 'example.com/team=blue');
    await objects.kubectl('annotate', kind, id, 'example.com/owner=Ada');
    await rest('PUT', `${path}/${id}`, changed.body);
    const after = await objects.get(kind, id);
    expect(after.spec).toMatchObject(changed.spec);
    expect(after.metadata).toMatchObject({
      labels: { 'example.com/team': 'blue' },
      annotations: { 'example.com/owner': 'Ada' },
    });
    await suite.api.expect('DELETE', `${path}/${id}`);
    expect(await objects.exists(kind, id)).toBe(false);
  });

  it('that kubectl makes, changes and deletes is the one that REST shows', async () => {
    await objects.apply(kind, 'by-kubectl', applied.spec);
    const list = (await rest('GET', path)) as Record<string, { id: string }[]>;
    expect(Object.values(list)[0]).toContainEqual(expect.objectContaining({ id: 'by-kubectl' }));
    const shown = async (): Promise<object> => view(await rest('GET', `${path}/by-kubectl`));
    expect(await shown()).toMatchObject(applied.view);
    await objects.patch(kind, 'by-kubectl', { spec: patched.spec });
    await eventually(async () => expect(await shown()).toMatchObject(patched.view), 1000);
    await objects.delete(kind, 'by-kubectl');
    expect((await suite.api.request('GET', `${path}/by-kubectl`)).status).toBe(404);
  });
});

describe('the Settings', () => {
  const shown = async (name: string): Promise<string> =>
    (await rest('GET', '/api/settings')).settings.find((setting: { name: string }) => setting.name === name).value;
  const values = async (): Promise<object> => (await objects.get('settings', 'wherry')).spec.values;
  const clear = (): Promise<Answer> =>
    suite.api.expect('PUT', '/api/settings', { settings: { 'server.name': null, 'log.level': null } });
  afterAll(() => clear());

  it('are the same over REST and by kubectl, and the defaults when they are deleted', async () => {
    await clear();
    await rest('PUT', '/api/settings', { settings: { 'server.name': 'Blue' } });
    await objects.kubectl('annotate', 'settings', 'wherry', 'example.com/owner=Ada', '--overwrite');
    expect(await values()).toMatchObject({ 'server.name': 'Blue' });
    await objects.patch('settings', 'wherry', { spec: { values: { 'log.level': 'warn' } } });
    expect([await shown('server.name'), await shown('log.level')]).toEqual(['Blue', 'warn']);
    await rest('PUT', '/api/settings', { settings: { 'server.name': null } });
    expect(await values()).toMatchObject({ 'log.level': 'warn' });
    expect((await objects.get('settings', 'wherry')).metadata.annotations).toMatchObject({
      'example.com/owner': 'Ada',
    });
    await objects.delete('settings', 'wherry');
    expect(await shown('log.level')).toBe('info');
    await rest('PUT', '/api/settings', { settings: { 'server.name': 'Green' } });
    expect(await values()).toEqual({ 'server.name': 'Green' });
  });
});

describe('kubectl', () => {
  it('lists all six kinds as wherry, and each by its short name', async () => {
    await objects.apply('KeyGroup', 'objects-listed', {});
    await objects.apply('ApiKey', 'objects-listed', { keyGroup: 'objects-listed', value });
    await objects.apply('FunctionSecret', 'objects-global', { name: 'LISTED', scope: 'global', value });
    await objects.apply('Function', 'objects-listed', {
      ...definition('objects/one.js', '/objects/listed'),
      enabled: false,
    });
    await rest('PUT', '/api/settings', { settings: { 'server.name': null } });
    const kindsOf = (names: string): string[] =>
      [
        ...new Set(
          names
            .trim()
            .split('\n')
            .map((name) => name.split('/')[0] ?? ''),
        ),
      ].toSorted();
    const all = ['apikey', 'codesource', 'function', 'functionsecret', 'keygroup', 'settings'].map(
      (kind) => `${kind}.wherry.dev`,
    );
    expect(kindsOf(await objects.kubectl('get', 'wherry', '-o', 'name'))).toEqual(all);
    const resources = (await cluster.kubectl(['api-resources', '--api-group=wherry.dev', '--no-headers']))
      .trim()
      .split('\n');
    const shortNames = resources.map((line) => line.split(/\s+/)[1] ?? '');
    const listed = await Promise.all(
      shortNames.map(async (name) => kindsOf(await objects.kubectl('get', name, '-o', 'name'))),
    );
    expect(listed.flat().toSorted()).toEqual(all);
    await objects.delete('fn', 'objects-listed');
    await objects.delete('fsec', 'objects-global');
  });

  it('waits for any kind that is well', async () => {
    await objects.apply('FunctionSecret', 'objects-global', { name: 'WAITED', scope: 'global', value });
    await objects.kubectl('wait', 'kg/objects-listed', 'csrc/objects', 'fsec/objects-global', 'wset/wherry', ...READY);
    await objects.patch('ak', 'objects-listed', { spec: { description: 'waited for' } });
    await objects.kubectl('wait', 'ak/objects-listed', ...READY);
    await objects.delete('fsec', 'objects-global');
  });

  it("replaces the envelope of REST's key by a secretKeyRef, applied by the server", async () => {
    const { id } = await rest('POST', '/api/keys', { groupId: 'objects-listed', name: 'taken_over' });
    await objects.apply(
      'ApiKey',
      id,
      { keyGroup: 'objects-listed', value: otherValue },
      '--server-side',
      '--force-conflicts',
    );
    expect((await objects.get('ak', id)).spec.value).toEqual(otherValue);
    await objects.kubectl('wait', `ak/${id}`, ...READY);
    await objects.delete('ak', id);
  });

  it('makes a group again under its name, which has none of the secrets of the one before', async () => {
    await objects.apply('KeyGroup', 'objects-again', {});
    await objects.apply('FunctionSecret', 'objects-group', {
      name: 'TOKEN',
      scope: 'group',
      keyGroup: 'objects-again',
      value,
    });
    await objects.kubectl('wait', 'fsec/objects-group', ...READY);
    const { metadata } = await objects.get('kg', 'objects-again');
    const again = JSON.stringify({
      apiVersion: 'wherry.dev/v1alpha1',
      kind: 'KeyGroup',
      metadata: { name: 'objects-again' },
      spec: {},
    });
    await cluster.kubectl(['replace', '--namespace=wherry-functions', '--force', '-f', '-'], { input: again });
    expect((await objects.get('kg', 'objects-again')).metadata.uid).not.toBe(metadata.uid);
    await eventually(async () => expect(await objects.exists('fsec', 'objects-group')).toBe(false));
    await objects.delete('kg', 'objects-again');
  });

  it('deletes a group or a key, and the secrets of its scope go with it', async () => {
    await objects.apply('FunctionSecret', 'objects-group', {
      name: 'TOKEN',
      scope: 'group',
      keyGroup: 'objects-listed',
      value,
    });
    await objects.apply('FunctionSecret', 'objects-key', {
      name: 'TOKEN',
      scope: 'key',
      apiKey: 'objects-listed',
      value,
    });
    await objects.kubectl('wait', 'fsec/objects-group', 'fsec/objects-key', ...READY);
    await objects.delete('ak', 'objects-listed');
    await eventually(async () =>
      expect([await objects.exists('fsec', 'objects-key'), await objects.exists('fsec', 'objects-group')]).toEqual([
        false,
        true,
      ]),
    );
    await objects.delete('kg', 'objects-listed');
    await eventually(async () => expect(await objects.exists('fsec', 'objects-group')).toBe(false));
  });
});
