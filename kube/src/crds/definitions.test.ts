import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fc } from '@wherry/testing/properties.ts';
import { parse } from 'yaml';
import { systemClock } from '@wherry/service/clock.ts';
import { ALL_KINDS, type Kind } from '@wherry/core/resources/kinds.ts';
import { connectKube } from '../client/kube-client.ts';
import { startApiServer, type ApiServer } from '../testing/api-server.ts';
import { installCrds } from '../testing/install-crds.ts';
import { BAD, GOOD, type Sample } from './testing/sample-objects.ts';
import { DryRun, tryStatusWithZod, tryWithZod } from './testing/try-object.ts';

const GENERATED = path.join(import.meta.dirname, '../../../crds/generated');
const PAGES = path.join(import.meta.dirname, '../../../docs/spec');
let server: ApiServer;
let dryRun: DryRun;

beforeAll(async () => {
  server = await startApiServer();
  const client = await connectKube({ kubeconfig: server.kubeconfig, clock: systemClock });
  await installCrds(client);
  await client.close();
  dryRun = new DryRun(server);
}, 120_000);

afterAll(async () => {
  await dryRun?.close();
  await server?.stop();
});

describe('what the schemas refuse, kube-apiserver refuses, and the other way round', () => {
  it.each(GOOD)('both take a %s %j', async (...sample) => {
    expect({ zod: tryWithZod(sample), kubernetes: await dryRun.create(sample) }).toEqual({
      zod: undefined,
      kubernetes: undefined,
    });
  });

  it.each(BAD)('both refuse, naming %s, a %s %j', async (field, ...sample) => {
    expect(tryWithZod(sample)).toContain(field);
    expect(await dryRun.create(sample)).toContain(field);
  });

  it.each(readdirSync(PAGES))('both take the example of docs/spec/%s', async (page) => {
    const example = /```yaml\n([\s\S]*?)```/.exec(readFileSync(path.join(PAGES, page), 'utf8'))?.[1] ?? '';
    const { kind, metadata, spec } = parse(example) as { kind: Kind; metadata: { name: string }; spec: unknown };
    const sample: Sample = [kind, spec, metadata.name];
    expect({ zod: tryWithZod(sample), kubernetes: await dryRun.create(sample) }).toEqual({
      zod: undefined,
      kubernetes: undefined,
    });
  });

  it('every rule of the definitions refuses one of those objects', async () => {
    const said = (await Promise.all(BAD.map(([, ...sample]) => dryRun.create(sample)))).join('\n');
    const files = readdirSync(GENERATED).filter((file) => file.endsWith('.yaml'));
    const rules = files.flatMap((file) => rulesOf(parse(readFileSync(path.join(GENERATED, file), 'utf8'))));
    expect(rules.length).toBeGreaterThan(30);
    expect(rules.filter(({ message }) => !said.includes(message))).toEqual([]);
  });

  it.each<[string, Kind, unknown]>([
    ['', 'KeyGroup', { keys: 3, observedGeneration: 1 }],
    ['', 'FunctionSecret', { owner: { kind: 'KeyGroup', name: 'team', uid: '0b6f' }, observedGeneration: 1 }],
    ['status.owner.kind', 'FunctionSecret', { owner: { kind: 'Pod', name: 'team', uid: '0b6f' } }],
    ['', 'Function', { conditions: [condition('Ready'), condition('Available')], replicas: 1, url: 'http://a' }],
    ['status.keys', 'KeyGroup', { keys: -1 }],
    ['status.keys', 'KeyGroup', { keys: 'many' }],
    ['status.colour', 'KeyGroup', { colour: 'blue' }],
    ['status.conditions', 'Function', { conditions: [condition('Ready'), condition('Ready')] }],
    ['status.conditions[0]', 'Function', { conditions: [{ ...condition('Ready'), status: 'Perhaps' }] }],
    ['status.conditions[0].reason', 'ApiKey', { conditions: [{ ...condition('Ready'), reason: '' }] }],
    ['status.tree', 'CodeSource', { tree: 'none' }],
  ])('both name "%s" of the status of a %s: %j', async (field, kind, status) => {
    const [, spec] = GOOD.find(([each]) => each === kind) ?? [];
    const stored = await dryRun.keep([kind, spec]);
    const refusals = [tryStatusWithZod(kind, status), await dryRun.status(kind, stored, status)];
    for (const refusal of refusals) {
      if (field === '') expect(refusal).toBeUndefined();
      else expect(refusal).toContain(field);
    }
  });
});

describe('both judge alike what is drawn', () => {
  const text = (...tokens: string[]): fc.Arbitrary<string> =>
    fc.array(fc.constantFrom(...tokens), { maxLength: 8 }).map((parts) => parts.join(''));
  const joined = (...parts: string[][]): fc.Arbitrary<string> =>
    fc.tuple(...parts.map((some) => fc.constantFrom(...some))).map((drawn) => drawn.join(''));
  const fn = { handler: 'api/hello.ts', route: '/hello', methods: ['GET'] };
  const key = { keyGroup: 'a', value: { encrypted: 'e' } };
  const routed = (route: string): Sample => ['Function', { ...fn, route: `/${route}` }];
  const spaces = [
    '\t',
    '\n',
    '\v',
    '\u0085',
    '\u00a0',
    '\u1680',
    '\u180e',
    '\u2007',
    '\u200b',
    '\u2028',
    '\u202f',
    '\u205f',
    '\u3000',
    '\ufeff',
    ' ',
  ];
  const good = fc.constantFrom('a', ':a', ':b', ':id', '%41', '%c3%A9', '%e2%82%ac', '%f0%9f%92%be', '...', '~');
  const bad = fc.constantFrom('', '*', '.', '%2e', ':', '%2F', '%ed%a0%80', '%c0%80', '%f5%80%80%80', 'ä', 'a:b');
  const segment = fc.oneof({ weight: 6, arbitrary: good }, { weight: 1, arbitrary: bad });

  it.each<[string, fc.Arbitrary<string>, (drawn: string) => Sample]>([
    ['routes of segments', fc.array(segment, { maxLength: 6 }).map((segments) => segments.join('/')), routed],
    [
      'routes',
      text(
        '/',
        '/',
        ':',
        ':id',
        'a',
        '*',
        '.',
        '%',
        '%2e',
        '%2F',
        '%41',
        '%c3',
        '%A9',
        '%e2',
        '%82%ac',
        '%ed',
        '%a0',
        '%f0%9f',
        'ä',
        '~',
      ),
      routed,
    ],
    [
      'handlers',
      text('/', '/', 'a', '.', '..', '\\', '\0', ' ', '\n', 'ä', '💾', '-'),
      (handler) => ['Function', { ...fn, handler: `a/${handler}` }],
    ],
    [
      'names of functions',
      text('a', '💾', ...spaces, ...spaces),
      (displayName) => ['Function', { ...fn, displayName }],
    ],
    [
      'origins',
      fc
        .tuple(
          fc.constantFrom('', '*', 'http://', 'a+b://', 'H://'),
          text('a', 'b', ':', '.', '💾', '/', '@', ',', '\\', ...spaces.slice(0, 6)),
        )
        .map((parts) => parts.join('')),
      (origin) => ['Function', { ...fn, cors: { origins: [origin] } }],
    ],
    [
      'times',
      joined(
        ['2030-01-01', '2028-02-29', '2100-02-29', '2030-04-31', '30-01-01'],
        ['T', 't', ' '],
        ['00:00:00', '23:59:59', '24:00:00', '12:00', '12:00:60'],
        ['', '.5', '.123456789', '.'],
        ['Z', '+01:00', '-23:59', '', 'z', '+0100', '+24:00'],
      ),
      (expiresAt) => ['ApiKey', { ...key, expiresAt }],
    ],
    [
      'lists of groups',
      text('a', 'b-c', '-', ',', ',', 'A', ...spaces),
      (groups) => ['Settings', { values: { 'api.access-groups': groups } }, 'wherry'],
    ],
    [
      'digits',
      text('0', '1', '9', '5', '3', '7', '-', '+', '.', '٣'),
      (digits) => ['Settings', { values: { 'log.trimming.max-per-function': digits } }, 'wherry'],
    ],
  ])(
    '%s',
    async (_what, drawn, sampleOf) => {
      const property = fc.asyncProperty(drawn, async (value) => {
        const sample = sampleOf(value);
        const [zod, kubernetes] = [tryWithZod(sample), await dryRun.create(sample)];
        if ((zod === undefined) !== (kubernetes === undefined))
          throw new Error(`zod: ${zod ?? 'takes it'}\nKubernetes: ${kubernetes ?? 'takes it'}`);
      });
      await fc.assert(property, { numRuns: 200 });
    },
    120_000,
  );
});

describe('the kinds, as kubectl sees them', () => {
  it('have their short names and the category wherry', async () => {
    const found = (await dryRun.discover()).filter((resource) => !(resource as { name: string }).name.includes('/'));
    const named = (
      found as { kind: string; name: string; singularName: string; shortNames: string[]; categories: string[] }[]
    ).sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(
      named.map(({ kind, name, singularName, shortNames, categories }) => [
        kind,
        name,
        singularName,
        ...shortNames,
        ...categories,
      ]),
    ).toEqual([
      ['ApiKey', 'apikeys', 'apikey', 'ak', 'wherry'],
      ['CodeSource', 'codesources', 'codesource', 'csrc', 'wherry'],
      ['Function', 'functions', 'function', 'fn', 'wherry'],
      ['FunctionSecret', 'functionsecrets', 'functionsecret', 'fsec', 'wherry'],
      ['KeyGroup', 'keygroups', 'keygroup', 'kg', 'wherry'],
      ['Settings', 'settings', 'settings', 'wset', 'wherry'],
    ]);
  });

  it('show whether a function is up, where, and on which code', async () => {
    const spec = { handler: 'api/hello.ts', route: '/up', methods: ['GET'] };
    const metadata = { name: 'up', namespace: 'default' };
    const made = await dryRun.request<object>('POST', 'Function', {
      body: { apiVersion: 'wherry.dev/v1alpha1', kind: 'Function', metadata, spec },
    });
    const status = {
      conditions: [condition('Ready')],
      url: 'http://f/up',
      activeRevision: 'a'.repeat(64),
      shortRevision: 'a'.repeat(12),
      replicas: 3,
      readyReplicas: 2,
    };
    await dryRun.request('PUT', 'Function', { path: '/up/status', body: { ...made, status } });
    const table = await dryRun.request<Table>('GET', 'Function', {
      path: '/up',
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    const shown = table.columnDefinitions.flatMap(({ name, priority }, at) =>
      priority === 0 ? [[name, table.rows[0]?.cells[at]]] : [],
    );
    expect(Object.fromEntries(shown)).toEqual({
      Name: 'up',
      Ready: 'True',
      Reason: 'Ready',
      Route: '/up',
      Revision: 'a'.repeat(12),
      Replicas: 2,
      Age: expect.stringMatching(/s$/) as string,
    });
  });

  it('fit a function with long names into 140 characters of a terminal', async () => {
    const [name, route] = ['partner-order-confirmation-webhook', '/partners/:partner/orders/:order'];
    const made = await dryRun.request<object>('POST', 'Function', {
      body: {
        apiVersion: 'wherry.dev/v1alpha1',
        kind: 'Function',
        metadata: { name, namespace: 'default' },
        spec: { handler: 'api/hello.ts', route, methods: ['POST'] },
      },
    });
    const status = {
      conditions: [{ ...condition('Ready'), status: 'Unknown', reason: 'RegistryUnavailable' }],
      activeRevision: 'a'.repeat(64),
      shortRevision: 'a'.repeat(12),
      readyReplicas: 100,
    };
    await dryRun.request('PUT', 'Function', { path: `/${name}/status`, body: { ...made, status } });
    const table = await dryRun.request<Table>('GET', 'Function', {
      path: `/${name}`,
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    // kubectl pads each column to its widest text and three spaces.
    const widths = table.columnDefinitions.flatMap((column, at) =>
      column.priority === 0 ? [Math.max(column.name.length, String(table.rows[0]?.cells[at]).length)] : [],
    );
    expect(widths.reduce((sum, width) => sum + width + 3, -3)).toBeLessThanOrEqual(140);
  });

  it.each(ALL_KINDS)('say of a %s that nobody has seen that nothing is observed', async (kind) => {
    const [, spec, name = 'fresh'] = GOOD.find(([each]) => each === kind) ?? [];
    const body = { apiVersion: 'wherry.dev/v1alpha1', kind, metadata: { name, namespace: 'default' }, spec };
    const fresh = await dryRun.request<{ status: object }>('POST', kind, { body });
    expect(fresh.status).toEqual({ observedGeneration: -1 });
  });

  it('a value that git applies takes the place of the one that another wrote', async () => {
    const made = {
      apiVersion: 'wherry.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: { name: 'adopted', namespace: 'default' },
    };
    await dryRun.request('POST', 'ApiKey', {
      body: { ...made, spec: { keyGroup: 'a', enabled: true, value: { encrypted: 'by REST' } } },
    });
    const value = { secretKeyRef: { name: 'vault', key: 'acme' } };
    const applied = await dryRun.apply<{ spec: object }>('ApiKey', 'adopted', {
      ...made,
      spec: { keyGroup: 'a', value },
    });
    expect(applied).toMatchObject({ spec: { value } });
    expect(applied.spec).not.toHaveProperty('value.encrypted');
  });

  it('are scaled by kubectl scale within their limits, and not beyond', async () => {
    const spec = {
      handler: 'api/hello.ts',
      route: '/scaled',
      methods: ['GET'],
      scaling: { minReplicas: 1, maxReplicas: 3 },
    };
    const metadata = { name: 'scaled', namespace: 'default' };
    await dryRun.request('POST', 'Function', {
      body: { apiVersion: 'wherry.dev/v1alpha1', kind: 'Function', metadata, spec },
    });
    const scaleTo = async (replicas: number): Promise<{ spec?: { replicas: number }; message?: string }> => {
      const scale = await dryRun.request<{ spec: object }>('GET', 'Function', { path: '/scaled/scale' });
      return dryRun.request('PUT', 'Function', { path: '/scaled/scale', body: { ...scale, spec: { replicas } } });
    };
    expect((await scaleTo(3)).spec).toEqual({ replicas: 3 });
    const scaled = await dryRun.request<{ spec: { scaling: object } }>('GET', 'Function', { path: '/scaled' });
    expect(scaled.spec.scaling).toMatchObject({ minReplicas: 3, maxReplicas: 3 });
    expect((await scaleTo(4)).message).toContain('spec.scaling.maxReplicas');
  });
});

interface Table {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: unknown[] }[];
}

function condition(type: string): object {
  return {
    type,
    status: 'True',
    reason: type,
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: 1,
  };
}

/** Every rule in a definition, wherever it stands. */
function rulesOf(node: unknown): { message: string }[] {
  if (typeof node !== 'object' || node === null) return [];
  const own = (node as Record<string, unknown>)['x-kubernetes-validations'];
  return [...(Array.isArray(own) ? (own as { message: string }[]) : []), ...Object.values(node).flatMap(rulesOf)];
}
