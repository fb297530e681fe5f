import { isDeepStrictEqual } from 'node:util';
import { testCluster } from '../cluster/test-cluster.ts';
import { ApiClient, eventually, send, type Answer } from '../lib/api-client.ts';
import { FunctionObjects } from '../lib/function-objects.ts';
import { startPlatform, type Platform } from '../lib/platform.ts';
import { conditionOf, isReady, WatchedFunction, type SeenFunction } from '../lib/watched-function.ts';

/*
 * The six kinds as kubectl and the REST API see them: the same objects, the same refusals, and what kubectl shows of them.
 */

const KEY_VALUE = 'a-value-of-a-secret-of-objects';
const READY = ['--for=condition=Ready', '--timeout=60s'];
const cluster = testCluster();
const objects = new FunctionObjects(cluster);
const text = (word: string): string => `export default (c) => c.text('${word}');`;
const definition = (handler: string, route: string): { handler: string; route: string; methods: string[] } => ({
  handler,
  route,
  methods: ['GET'],
});

let platform: Platform;
let api: ApiClient;

const run = (path: string): Promise<Answer> => send(`${platform.functionUrl}/run${path}`);
const rest = async (method: string, path: string, body?: unknown): Promise<any> =>
  (await api.expect(method, path, body)).body;
const becomes = (path: string, status: number, word?: string, ms?: number): Promise<void> =>
  eventually(async () => {
    const answer = await run(path);
    expect([answer.status, word === undefined ? undefined : answer.text]).toEqual([status, word]);
  }, ms);

/** Source, group and function that other tests lean on are made by kubectl; the files come over REST. */
beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  await objects.secret('objects-values', { key: KEY_VALUE });
  await objects.apply('CodeSource', 'objects', { type: 'manual' });
  for (const word of ['one', 'two']) await api.upload('objects', `${word}.js`, text(word));
}, 60_000);

afterAll(async () => {
  await objects.delete('functionsecrets', 'objects-global', 'objects-function', 'objects-group', 'objects-key');
  await objects.delete('secret', 'objects-values');
  await platform?.dispose();
}, 30_000);

/** One kind both ways: what REST makes and changes, and what kubectl does. */
interface Kind {
  path: string;
  made: { body: object; id: (answer: any) => string; spec: object };
  changed: { body: object; spec: object };
  applied: { spec: object; view: object };
  patched: { spec: object; view: object };
  view: (answer: any) => object;
}

const value = { secretKeyRef: { name: 'objects-values', key: 'key' } };
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
    await api.expect('DELETE', `${path}/${id}`);
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
    expect((await api.request('GET', `${path}/by-kubectl`)).status).toBe(404);
  });
});

describe('the Settings', () => {
  const shown = async (name: string): Promise<string> =>
    (await rest('GET', '/api/settings')).settings.find((setting: { name: string }) => setting.name === name).value;
  const values = async (): Promise<object> => (await objects.get('settings', 'wherry')).spec.values;
  const clear = (): Promise<Answer> =>
    api.expect('PUT', '/api/settings', { settings: { 'server.name': null, 'log.level': null } });
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

describe('what one refuses, the other refuses', () => {
  const fn = definition('a/b.js', '/refused');
  const both = (fields: object): [string, object, string, object] => [
    'Function',
    { ...fn, ...fields },
    'POST /api/functions',
    { name: 'refused', ...fn, ...fields },
  ];
  const named = (kind: string, path: string, name: string): [string, object, string, object] => [
    kind,
    { ...(kind === 'CodeSource' && { type: 'manual' }), displayName: name },
    `POST ${path}`,
    { name, ...(kind === 'CodeSource' && { type: 'manual' }) },
  ];
  const setting = (name: string, to: string): [string, object, string, object] => [
    'Settings',
    { values: { [name]: to } },
    'PUT /api/settings',
    { settings: { [name]: to } },
  ];

  /** The field in the object, in the request, what each says of it; then how it is tried. */
  type Refused = [field: string, restField: string, said: string, restSaid: string, ...ReturnType<typeof both>];
  const same = (field: string, restField: string, said: string, tried: ReturnType<typeof both>): Refused => [
    field,
    restField,
    said,
    said,
    ...tried,
  ];

  const TABLE: Refused[] = [
    same('spec.route', 'route', 'must begin with /', both({ route: 'refused' })),
    same('spec.route', 'route', 'must not end with / (only / itself does)', both({ route: '/a/' })),
    same('spec.route', 'route', 'must name each parameter once', both({ route: '/:a/:a' })),
    same('spec.handler', 'handler', 'must be <source name>/<path in the source>', both({ handler: 'a.js' })),
    same('spec.handler', 'handler', 'must not hold empty, . or .. segments', both({ handler: 'a/../b.js' })),
    same(
      'spec.cors.credentials',
      'cors.credentials',
      'must not be true when origins contains *',
      both({ cors: { origins: ['*'], credentials: true } }),
    ),
    same(
      'spec.cors.origins[0]',
      'cors.origins.0',
      'must be * or scheme://host[:port]',
      both({ cors: { origins: ['a.example'] } }),
    ),
    same(
      'spec.cors.allowHeaders[0]',
      'cors.allowHeaders.0',
      'must be a header name',
      both({ cors: { origins: ['*'], allowHeaders: ['a b'] } }),
    ),
    same(
      'spec.scaling.maxReplicas',
      'scaling.maxReplicas',
      'must not be less than minReplicas',
      both({ scaling: { minReplicas: 3 } }),
    ),
    [
      'spec.methods[1]',
      'methods',
      'Duplicate value: "GET"',
      'must not repeat a method',
      ...both({ methods: ['GET', 'GET'] }),
    ],
    [
      'spec.methods[0]',
      'methods.0',
      'supported values: "GET", "POST"',
      'must be one of "GET"|"POST"',
      ...both({ methods: ['FETCH'] }),
    ],
    ['spec.methods', 'methods', 'at least 1 items', '>=1 items', ...both({ methods: [] })],
    [
      'spec.timeoutSeconds',
      'timeoutSeconds',
      'greater than or equal to 1',
      'must be >=1',
      ...both({ timeoutSeconds: 0 }),
    ],
    [
      'spec.timeoutSeconds',
      'timeoutSeconds',
      'less than or equal to 3600',
      'must be <=3600',
      ...both({ timeoutSeconds: 3601 }),
    ],
    [
      'spec.timeoutSeconds',
      'timeoutSeconds',
      'must be of type integer: "string"',
      'must be number, not string',
      ...both({ timeoutSeconds: '5' }),
    ],
    [
      'spec.resources.memoryMiB',
      'resources.memoryMiB',
      'greater than or equal to 64',
      'must be >=64',
      ...both({ resources: { memoryMiB: 63 } }),
    ],
    [
      'spec.description',
      'description',
      'may not be more than 1024',
      '1024 characters',
      ...both({ description: 'x'.repeat(1025) }),
    ],
    ['spec.podSpec', 'podSpec', 'unknown field', 'is not a known field', ...both({ podSpec: {} })],
    ['spec.handler', 'handler', 'Required value', 'is required', ...both({ handler: undefined })],
    same(
      'spec.displayName',
      'name',
      'must be 1 to 64 lowercase letters, digits, dashes and underscores',
      named('KeyGroup', '/api/key-groups', 'No Good'),
    ),
    same(
      'spec.displayName',
      'name',
      'must not be code: a leading code/ of a handler is dropped',
      named('CodeSource', '/api/sources', 'code'),
    ),
    same(
      'spec.displayName',
      'name',
      'must be 1 to 64 letters, digits, dashes and underscores, a letter or digit first',
      named('CodeSource', '/api/sources', 'a b'),
    ),
    same('spec.displayName', 'name', 'must not be blank', [
      'Function',
      { ...fn, displayName: ' ' },
      'POST /api/functions',
      { ...fn, name: ' ' },
    ]),
    same('spec.git', 'typeSettings.url', 'belongs to type git', [
      'CodeSource',
      { type: 'manual', git: { url: 'https://a' } },
      'POST /api/sources',
      { name: 'a', type: 'manual', typeSettings: { url: 'https://a' } },
    ]),
    same(
      'spec.values.metrics.retention-days',
      'settings.metrics.retention-days',
      'must be a whole number from 1 to 365',
      setting('metrics.retention-days', '0'),
    ),
    same(
      'spec.values.api.access-groups',
      'settings.api.access-groups',
      'must be key-group ids, comma-separated',
      setting('api.access-groups', 'a;b'),
    ),
    [
      'spec.values.log.level',
      'settings.log.level',
      'supported values: "debug", "info"',
      'must be one of debug, info',
      ...setting('log.level', 'loud'),
    ],
  ];

  it.each(TABLE)('%s (REST: %s): %s', async (...row) => {
    const [field, restField, said, restSaid, kind, spec, request, body] = row;
    const [method = '', path = ''] = request.split(' ');
    const [byKubectl, byRest] = await Promise.all([
      objects.tryApply(kind, kind === 'Settings' ? 'wherry' : 'refused', spec),
      api.request(method, path, body),
    ]);
    expect([byKubectl.code, byRest.status]).toEqual([1, 400]);
    const line = byKubectl.stderr.split('\n').find((each) => each.includes(said));
    expect({ line, all: byKubectl.stderr }).toEqual({ line: expect.stringContaining(field), all: expect.any(String) });
    expect(byRest.body.details).toContainEqual({ path: restField, message: expect.stringContaining(restSaid) });
  });

  it('the text of 64 emojis, of which no program may count the halves, is taken by both', async () => {
    const name = '💾'.repeat(64);
    expect((await objects.tryApply('Function', 'refused', { ...fn, displayName: name })).code).toBe(0);
    await rest('DELETE', `/api/functions/${(await rest('POST', '/api/functions', { ...fn, name })).function.id}`);
  });
});

describe('a function of kubectl', () => {
  it('serves what is uploaded over REST, and kubectl waits for it, lists it and tells of it', async () => {
    await objects.apply('Function', 'objects-shown', definition('objects/one.js', '/objects/shown'));
    await objects.kubectl('wait', 'fn/objects-shown', ...READY);
    await becomes('/objects/shown', 200, 'one', 1000);
    const [head = '', row = ''] = (await objects.kubectl('get', 'fn', 'objects-shown')).split('\n');
    expect(head.split(/\s{2,}|\s*$/).filter(Boolean)).toEqual([
      'NAME',
      'READY',
      'REASON',
      'ROUTE',
      'REVISION',
      'REPLICAS',
      'AGE',
    ]);
    expect(row).toMatch(/^objects-shown\s+True\s+Ready\s+\/objects\/shown\s+[0-9a-f]{12}\s+1\s+\d+s/);
    const told = await objects.kubectl('describe', 'fn', 'objects-shown');
    expect(told).toMatch(/Events:\n[\s\S]*Normal\s+Ready\s+.*wherry-operator/);
    await api.upload('objects', 'one.js', text('changed'));
    await becomes('/objects/shown', 200, 'changed');
    await api.upload('objects', 'one.js', text('one'));
    await becomes('/objects/shown', 200, 'one');
    await objects.delete('fn', 'objects-shown');
    await becomes('/objects/shown', 404, undefined, 1000);
  });

  it('says why it is not ready, in a condition and in an event', async () => {
    await objects.apply('Function', 'objects-broken', definition('objects/missing.js', '/objects/broken'));
    await objects.kubectl(
      'wait',
      'fn/objects-broken',
      '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=HandlerNotFound',
      '--timeout=60s',
    );
    await eventually(async () =>
      expect(await objects.kubectl('describe', 'fn', 'objects-broken')).toMatch(
        /Warning\s+HandlerNotFound\s+.*missing\.js/,
      ),
    );
    await objects.delete('fn', 'objects-broken');
  });

  it('that comes second on a route says RouteConflict, and has the route when the first one goes', async () => {
    await objects.apply('Function', 'objects-older', definition('objects/one.js', '/objects/route'));
    await objects.kubectl('wait', 'fn/objects-older', ...READY);
    await objects.apply('Function', 'objects-younger', definition('objects/two.js', '/objects/route'));
    const conditionOf = async (type: string): Promise<{ reason: string; message: string }> => {
      const { status } = await objects.get('fn', 'objects-younger');
      return status.conditions.find((condition: { type: string }) => condition.type === type);
    };
    await eventually(async () =>
      expect(await conditionOf('Ready')).toMatchObject({
        status: 'False',
        reason: 'RouteConflict',
        message: expect.stringContaining('objects-older'),
      }),
    );
    expect(await conditionOf('RouteAccepted')).toMatchObject({ status: 'False', reason: 'RouteConflict' });
    await becomes('/objects/route', 200, 'one', 0);
    const third = await api.request('POST', '/api/functions', {
      name: 'third',
      ...definition('objects/two.js', '/objects/route'),
    });
    expect([third.status, third.body.error]).toEqual([409, expect.stringContaining('objects-older')]);
    await objects.delete('fn', 'objects-older');
    await objects.kubectl('wait', 'fn/objects-younger', ...READY);
    await becomes('/objects/route', 200, 'two', 1000);
    await objects.delete('fn', 'objects-younger');
  });

  it('is scaled by kubectl scale, and goes with all that was made for it and its secrets', async () => {
    const name = 'objects-scaled';
    await objects.apply('Function', name, {
      ...definition('objects/one.js', '/objects/scaled'),
      scaling: { minReplicas: 1, maxReplicas: 2 },
    });
    await objects.apply('FunctionSecret', 'objects-function', {
      name: 'TOKEN',
      scope: 'function',
      function: name,
      value,
    });
    await objects.kubectl('wait', `fn/${name}`, ...READY);
    await objects.kubectl('scale', 'fn', name, '--replicas=2');
    await objects.kubectl('wait', `fn/${name}`, '--for=jsonpath={.status.readyReplicas}=2', '--timeout=60s');
    expect((await rest('GET', `/api/functions/${name}`)).function).toMatchObject({
      scaling: { minReplicas: 2 },
      status: { replicas: 2, readyReplicas: 2 },
    });
    await expect(objects.kubectl('scale', 'fn', name, '--replicas=3')).rejects.toThrow('spec.scaling.maxReplicas');
    const kinds = async (): Promise<string[]> =>
      [...new Set((await objects.namedAfter(name)).map((each) => each.split('/')[0] ?? ''))].toSorted();
    await eventually(async () =>
      expect(await kinds()).toEqual([
        'deployment.apps',
        'endpointslice.discovery.k8s.io',
        'pod',
        'poddisruptionbudget.policy',
        'replicaset.apps',
        'secret',
        'service',
      ]),
    );
    await objects.kubectl('wait', 'fsec/objects-function', ...READY);
    await objects.delete('fn', name);
    await becomes('/objects/scaled', 404, undefined, 1000);
    await eventually(async () => expect(await objects.namedAfter(name)).toEqual([]));
    expect(await objects.exists('fsec', 'objects-function')).toBe(false);
  });
});

describe('Ready of a function, watched by kubectl', () => {
  const name = 'objects-edited';
  const edit = (spec: object): Promise<void> => objects.patch('fn', name, { spec });
  let watched: WatchedFunction;

  beforeAll(async () => {
    await objects.apply('Function', name, definition('objects/one.js', '/objects/edited'));
    await objects.kubectl('wait', `fn/${name}`, ...READY);
    watched = new WatchedFunction(cluster, name);
    await watched.until(isReady);
  }, 60_000);
  afterAll(async () => {
    watched?.stop();
    await objects.delete('fn', name);
  }, 30_000);

  it.each<[string, () => Promise<unknown>, string]>([
    ['its spec', () => edit({ handler: 'objects/two.js' }), 'two'],
    ['its source', () => api.upload('objects', 'two.js', text('edited')), 'edited'],
  ])(
    'an edit of %s is never Ready with the code of before',
    async (_what, makeEdit, word) => {
      const from = watched.seen.length;
      const before = watched.seen[from - 1]!;
      const isOld = ({ status }: SeenFunction): boolean => status.activeRevision === before.status.activeRevision;
      await makeEdit();
      await watched.until((seen) => isReady(seen) && !isOld(seen), from);
      await becomes('/objects/edited', 200, word, 1000);
      const judged = watched.seen
        .slice(from)
        .filter(({ generation, status }) => status.observedGeneration === generation);
      // An edit of the source leaves the generation as it is: Ready is true of it until the edit is seen.
      const course = judged.slice(judged.findIndex((seen) => seen.generation !== before.generation || !isReady(seen)));
      const steps = course.map((seen) => ({
        isReady: isReady(seen),
        isReconciling: conditionOf(seen, 'Reconciling')?.status === 'True',
        isOld: isOld(seen),
      }));
      expect(steps.filter((step, at) => !isDeepStrictEqual(step, steps[at - 1]))).toEqual([
        { isReady: false, isReconciling: true, isOld: true },
        { isReady: true, isReconciling: false, isOld: false },
      ]);
    },
    60_000,
  );

  it('instances that no node has room for are not Ready, and the message has how many there are; calls are answered, and taking it back is Ready', async () => {
    const { items } = JSON.parse(await cluster.kubectl(['get', 'nodes', '-o', 'json'])) as {
      items: { status: { allocatable: { memory: string } } }[];
    };
    // One more than all nodes could take if nothing else ran on them.
    const fit = items.reduce(
      (sum, { status }) => sum + Math.floor(Number.parseInt(status.allocatable.memory) / 1024 / 8192),
      0,
    );
    const replicas = fit + 1;
    await edit({ scaling: { minReplicas: replicas, maxReplicas: replicas }, resources: { memoryMiB: 64 } });
    await watched.until((seen) => isReady(seen) && seen.status.readyReplicas === replicas);
    const from = watched.seen.length;
    await edit({ resources: { memoryMiB: 8192 } });
    const message = new RegExp(
      `^\\d+ of ${replicas} instances take calls\\. .*0/${items.length} nodes.*Insufficient memory`,
    );
    const short = await watched.until((seen) => message.test(conditionOf(seen, 'Ready')?.message ?? ''), from);
    const of = (type: string): unknown[] => [conditionOf(short, type)?.status, conditionOf(short, type)?.reason];
    expect([of('Ready'), of('Reconciling'), of('Available')]).toEqual([
      ['False', 'Starting'],
      ['True', 'Starting'],
      ['True', 'MinimumReplicasAvailable'],
    ]);
    await becomes('/objects/edited', 200, 'edited', 0);
    await edit({ resources: { memoryMiB: 64 } });
    const back = short.generation + 1;
    await watched.until((seen) => isReady(seen) && seen.generation === back, from);
    expect(
      watched.seen
        .slice(from)
        .filter(({ generation, status }) => generation === short.generation && status.observedGeneration === generation)
        .filter(isReady),
    ).toEqual([]);
  }, 90_000);
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
    await objects.apply('ApiKey', id, { keyGroup: 'objects-listed', value }, '--server-side', '--force-conflicts');
    expect((await objects.get('ak', id)).spec.value).toEqual(value);
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
