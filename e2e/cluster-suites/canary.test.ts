import { gunzipSync } from 'node:zlib';
import { testCluster } from '../cluster/test-cluster.ts';
import { ApiClient, eventually, send, type Answer } from '../testing/api-client.ts';
import { startPlatform, type Platform } from '../testing/platform.ts';

/*
 * K4: a search for what must stand nowhere in the clear: in no object of both namespaces but the Secrets that are there
 * to hold it, in no event, and in no log of any program or function.
 */

const cluster = testCluster();
const FUNCTIONS = 'wherry-functions';
const SYSTEM = 'wherry-system';
/** Of the canaries that a person chose. */
const MARK = `canary-${Date.now().toString(36)}`;
const FROM_SECRET = `${MARK}-of-a-secret-that-a-handler-reads`;
const OVER_REST = `${MARK}-of-a-secret-that-is-written-over-rest`;
const KEY_FROM_SECRET = `${MARK}-of-a-key-in-a-secret`;
const WRONG_KEY = `${MARK}-of-a-key-that-nobody-has`;

interface KubeObject {
  kind: string;
  metadata: { name: string; namespace?: string };
  data?: Record<string, string>;
}

let platform: Platform;
let api: ApiClient;
let functionId: string;
/** What is looked for, by what it is. */
let canaries: Record<string, string>;

const run = (path: string, key: string): Promise<Answer> =>
  send(`${platform.functionUrl}/run${path}`, { headers: { 'x-api-key': key } });
const wherry = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'wherry.dev/v1alpha1',
  kind,
  metadata: { name, namespace: FUNCTIONS },
  spec,
});

async function secretsOf(namespace: string): Promise<KubeObject[]> {
  return (
    JSON.parse(await cluster.kubectl(['get', 'secrets', '-n', namespace, '-o', 'json'])) as { items: KubeObject[] }
  ).items;
}

beforeAll(async () => {
  platform = await startPlatform();
  api = new ApiClient(platform.managementUrl, platform.managementKey);
  const { groupId, value: keyOverRest } = await api.groupWithKey('canary');
  const group = (
    JSON.parse(await cluster.kubectl(['get', 'keygroups', '-n', FUNCTIONS, '-o', 'json'])) as { items: KubeObject[] }
  ).items.find(({ metadata }) => metadata.name === groupId);
  await api.source('canary', {
    'h.ts':
      "export default async (c, ctx) => { if (c.req.query('bad')) throw new Error('as it should'); console.log(await ctx.getSecret('CANARY_REST')); return c.json({ seen: (await ctx.getSecret('CANARY'))?.length ?? 0 }); };",
  });
  functionId = await api.readyFunction({ name: 'canary', handler: 'canary/h.ts', route: '/canary', keys: [groupId] });
  const ofFunction = { scope: 'function', functionId };
  await api.expect('POST', '/api/secrets', { name: 'CANARY_REST', value: OVER_REST, ...ofFunction });
  const items = [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'canary-values', namespace: FUNCTIONS },
      stringData: { secret: FROM_SECRET, key: KEY_FROM_SECRET },
    },
    wherry('FunctionSecret', 'canary-secret', {
      name: 'CANARY',
      scope: 'function',
      function: functionId,
      value: { secretKeyRef: { name: 'canary-values', key: 'secret' } },
    }),
    wherry('ApiKey', 'canary-key', {
      keyGroup: group?.metadata.name ?? '',
      value: { secretKeyRef: { name: 'canary-values', key: 'key' } },
    }),
    // One that is broken, so that its condition and event are seen too.
    wherry('ApiKey', 'canary-broken', {
      keyGroup: group?.metadata.name ?? '',
      value: { secretKeyRef: { name: 'canary-values', key: 'missing' } },
    }),
  ];
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await eventually(async () =>
    expect((await run('/canary', KEY_FROM_SECRET)).body).toEqual({ seen: FROM_SECRET.length }),
  );
  expect((await run('/canary?bad=1', keyOverRest)).status).toBe(500);
  expect((await run('/canary', WRONG_KEY)).status).toBe(401);
  await api.request('POST', '/api/functions', { name: 'no', handler: WRONG_KEY });
  expect((await new ApiClient(platform.managementUrl, WRONG_KEY).request('GET', '/api/functions')).status).toBe(401);
  const ours = [
    ...(await secretsOf(SYSTEM)).filter(({ metadata }) => metadata.name.startsWith('wherry-')),
    ...(await secretsOf(FUNCTIONS)),
  ];
  canaries = {
    'a key over REST': keyOverRest,
    'a key of a Secret': KEY_FROM_SECRET,
    'a secret of a Secret': FROM_SECRET,
    'a secret over REST': OVER_REST,
    'a wrong key': WRONG_KEY,
    'the management key': platform.managementKey,
    ...Object.fromEntries(ours.flatMap(valuesOf)),
  };
}, 60_000);

/** What the Secrets hold that Wherry made, piece by piece: keys of files of JSON, lines of private keys. */
function valuesOf({ metadata, data = {} }: KubeObject): [string, string][] {
  return Object.entries(data).flatMap(([name, encoded]) => {
    const text = Buffer.from(encoded, 'base64').toString('utf8');
    const where = `${metadata.namespace}/${metadata.name} ${name}`;
    // A certificate is public.
    if (name.endsWith('.crt')) return [];
    if (name.endsWith('.json'))
      return [...text.matchAll(/"([\w+/=-]{40,})"/g)].map(([, key = ''], at): [string, string] => [
        `${where} ${at}`,
        key,
      ]);
    if (text.includes('PRIVATE KEY')) return [[where, text.split('\n')[2] ?? '']];
    return [[where, text.trim()]];
  });
}

afterAll(async () => {
  await cluster.kubectl([
    'delete',
    '-n',
    FUNCTIONS,
    '--ignore-not-found',
    'secret/canary-values',
    'functionsecret/canary-secret',
    'apikey/canary-key',
    'apikey/canary-broken',
  ]);
  await platform?.dispose();
}, 30_000);

/** Every object of a namespace, of every kind that the API server lists; of Secrets none but Helm's, unpacked. */
async function dump(namespace: string): Promise<string> {
  const kinds = (await cluster.kubectl(['api-resources', '--namespaced', '--verbs=list', '-o', 'name']))
    .trim()
    .split('\n')
    .filter((kind) => kind !== 'secrets');
  expect(kinds).toEqual(
    expect.arrayContaining([
      'configmaps',
      'events',
      'pods',
      'apikeys.wherry.dev',
      'functionsecrets.wherry.dev',
      'leases.coordination.k8s.io',
    ]),
  );
  const objects = await cluster.kubectl([
    'get',
    kinds.join(','),
    '-n',
    namespace,
    '-o',
    'json',
    '--show-managed-fields',
  ]);
  const releases = (await secretsOf(namespace))
    .filter(({ metadata }) => metadata.name.startsWith('sh.helm.'))
    .map(({ data }) => {
      const release = Buffer.from(data?.release ?? '', 'base64').toString('utf8');
      return gunzipSync(Buffer.from(release, 'base64')).toString('utf8');
    });
  return [objects, ...releases].join('\n');
}

async function logs(namespace: string): Promise<string> {
  const pods = (await cluster.kubectl(['get', 'pods', '-n', namespace, '-o', 'name']))
    .trim()
    .split('\n')
    .filter((name) => name !== '');
  const each = pods.map((pod) => cluster.kubectl(['logs', '-n', namespace, pod, '--all-containers', '--tail=-1']));
  return (await Promise.all(each)).join('\n');
}

/** A text in the forms in which it would be found again: as it is, as base64 by wherever it begins, as hex. */
function forms(text: string): string[] {
  const bytes = Buffer.from(text);
  const shifted = [0, 1, 2].map((skip) => {
    const whole = bytes.subarray((3 - skip) % 3);
    return whole.subarray(0, whole.length - (whole.length % 3)).toString('base64');
  });
  return [
    text,
    ...shifted,
    ...shifted.map((each) => each.replaceAll('+', '-').replaceAll('/', '_')),
    bytes.toString('hex'),
    encodeURIComponent(text),
  ];
}

const foundIn = (text: string): string[] =>
  Object.entries(canaries).flatMap(([what, value]) => (forms(value).some((form) => text.includes(form)) ? [what] : []));

describe('K4: the canaries', () => {
  it('are all that is secret, and the search finds each of them where it has to be', async () => {
    const names = Object.keys(canaries).join('\n');
    for (const part of [
      'encryption-keys',
      'digest-key',
      'feed-keys',
      'management-key',
      'setup-token',
      'internal-ca',
      'operator-tls',
      'router-tls',
      'manager-tls',
    ])
      expect(names).toContain(`${SYSTEM}/wherry-${part} `);
    expect(names).toContain(`${FUNCTIONS}/${functionId}-feed token`);
    for (const [what, value] of Object.entries(canaries)) expect([what, value.length >= 30]).toEqual([what, true]);
    const held = JSON.stringify([await secretsOf(SYSTEM), await secretsOf(FUNCTIONS)]);
    const nowhere = ['a key over REST', 'a secret over REST', 'a wrong key'];
    expect(foundIn(held).sort()).toEqual(
      Object.keys(canaries)
        .filter((what) => !nowhere.includes(what))
        .sort(),
    );
  });

  it.each([[SYSTEM], [FUNCTIONS]])('are in no object of %s, no event and no release', async (namespace) => {
    const text = await dump(namespace);
    expect(text.length).toBeGreaterThan(50_000);
    expect(foundIn(text)).toEqual([]);
  });

  it('are in no log of a program or of a function', async () => {
    const [system, functions] = [await logs(SYSTEM), await logs(FUNCTIONS)];
    // It is the right log, and the call stands in it.
    expect(system).toContain('"ready"');
    expect(foundIn(system + functions)).toEqual([]);
  });

  it("are in no entry of the service's own log", async () => {
    const { text } = await eventually(async () => {
      const answer = await api.expect('GET', `/api/logs?functionId=${functionId}`);
      expect(answer.text).toContain('as it should');
      return answer;
    });
    expect(foundIn(text)).toEqual([]);
  });
});
