import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { TestApiServer } from './api-server.ts';
import { chartFolder, everything, parse, render, renderText, SYSTEM } from './helm.ts';

const FUNCTIONS = 'wherry-functions';
const MINUTE = 60_000;

const server = new TestApiServer();
const kubectl = (...args: string[]): Promise<string> => server.must('kubectl', args);
const helm = (...args: string[]): Promise<string> => server.must('helm', [...args, '--namespace', SYSTEM]);

beforeAll(async () => {
  await server.start();
  await kubectl('apply', '--server-side', '-f', path.join(import.meta.dirname, 'foreign-crds'));
  await kubectl('create', 'namespace', SYSTEM);
  await kubectl('label', 'namespace', SYSTEM, 'pod-security.kubernetes.io/enforce=restricted');
  await helm('install', 'wherry', chartFolder);
}, 3 * MINUTE);

afterAll(() => server.stop());

describe('the API server', () => {
  it.each([
    ['by default', [], FUNCTIONS],
    ['with everything on', ['-f', everything], 'hooks-functions'],
  ])(
    'takes every object %s, to the letter of its schema',
    async (_what, args, functions) => {
      if ((await server.run('kubectl', ['get', 'namespace', functions])).code !== 0)
        await kubectl('create', 'namespace', functions);
      const text = await renderText(...args);
      const said = await server.must(
        'kubectl',
        ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict', '-f', '-'],
        text,
      );
      expect(said.trim().split('\n')).toHaveLength(parse(text).length);
    },
    MINUTE,
  );

  it(
    'takes the pods under Pod Security restricted',
    async () => {
      for (const { metadata, spec } of (await render()).filter(({ kind }) => kind === 'Deployment')) {
        const { template } = spec as { template: { metadata: object; spec: object } };
        const pod = {
          apiVersion: 'v1',
          kind: 'Pod',
          ...template,
          metadata: { ...template.metadata, name: metadata.name, namespace: SYSTEM },
        };
        expect(await server.must('kubectl', ['create', '--dry-run=server', '-f', '-'], JSON.stringify(pod))).toContain(
          'created',
        );
      }
    },
    MINUTE,
  );

  it('takes no other pods among the functions', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'loose', namespace: FUNCTIONS },
      spec: { serviceAccountName: 'wherry-function', containers: [{ name: 'loose', image: 'loose' }] },
    };
    const { code, stderr } = await server.run(
      'kubectl',
      ['create', '--dry-run=server', '-f', '-'],
      JSON.stringify(pod),
    );
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('violates PodSecurity "restricted') });
  });
});

describe('K1: what the accounts may do', () => {
  it.each<['yes' | 'no', string, string[]]>([
    ['yes', 'operator', ['create', 'deployments.apps', '-n', FUNCTIONS]],
    ['yes', 'operator', ['update', 'functions.wherry.dev', '--subresource=status', '-n', FUNCTIONS]],
    ['yes', 'operator', ['get', 'secrets/wherry-feed-keys', '-n', SYSTEM]],
    ['yes', 'manager', ['create', 'functions.wherry.dev', '-n', FUNCTIONS]],
    ['yes', 'manager', ['watch', 'secrets/wherry-encryption-keys', '-n', SYSTEM]],
    ['yes', 'operator', ['watch', 'secrets/wherry-encryption-keys', '-n', SYSTEM]],
    ['no', 'manager', ['get', 'secrets/wherry-digest-key', '-n', SYSTEM]],
    ['no', 'operator', ['update', 'functions.wherry.dev', '-n', FUNCTIONS]],
    ['no', 'operator', ['create', 'pods', '--subresource=exec', '-n', FUNCTIONS]],
    ['no', 'operator', ['create', 'pods', '-n', FUNCTIONS]],
    ['no', 'operator', ['list', 'secrets', '-n', SYSTEM]],
    ['no', 'operator', ['get', 'secrets/another', '-n', SYSTEM]],
    ['no', 'operator', ['get', 'secrets', '-n', 'kube-system']],
    ['no', 'operator', ['create', 'deployments.apps', '-n', SYSTEM]],
    ['no', 'operator', ['create', 'rolebindings.rbac.authorization.k8s.io', '-n', FUNCTIONS]],
    ['no', 'operator', ['list', 'functions.wherry.dev', '-n', 'default']],
    ['no', 'manager', ['update', 'functions.wherry.dev', '--subresource=status', '-n', FUNCTIONS]],
    ['no', 'manager', ['create', 'secrets', '-n', FUNCTIONS]],
    ['no', 'manager', ['get', 'secrets', '-n', SYSTEM]],
    ['no', 'router', ['get', 'pods', '-n', SYSTEM]],
  ])('%s: %s %j', async (answer, account, question) => {
    const { stdout } = await server.run('kubectl', [
      'auth',
      'can-i',
      ...question,
      `--as=system:serviceaccount:${SYSTEM}:wherry-${account}`,
    ]);
    expect(stdout.trim()).toBe(answer);
  });

  it('no: what functions run as may not even look at their own namespace', async () => {
    const { stdout } = await server.run('kubectl', [
      'auth',
      'can-i',
      '--list',
      '-n',
      FUNCTIONS,
      `--as=system:serviceaccount:${FUNCTIONS}:wherry-function`,
    ]);
    expect(stdout).not.toMatch(/wherry\.dev|pods|secrets|configmaps/);
  });
});

describe('a release that goes and comes again', () => {
  const kept = [
    ['namespace', FUNCTIONS],
    ['customresourcedefinition', 'functions.wherry.dev'],
    ['persistentvolumeclaim', 'wherry-manager', '-n', SYSTEM],
    ['secret', 'wherry-encryption-keys', '-n', SYSTEM],
    ['keygroup', 'partners', '-n', FUNCTIONS],
  ];
  const uids = (): Promise<string[]> =>
    Promise.all(kept.map(async (object) => (await server.get(...object)).metadata.uid));

  it(
    'loses nothing: objects, volume, keys and kinds are the same ones',
    async () => {
      await kubectl(
        'create',
        'secret',
        'generic',
        'wherry-encryption-keys',
        '-n',
        SYSTEM,
        '--from-literal=keys.json={}',
      );
      await server.must(
        'kubectl',
        ['create', '-f', '-'],
        JSON.stringify({
          apiVersion: 'wherry.dev/v1alpha1',
          kind: 'KeyGroup',
          metadata: { name: 'partners', namespace: FUNCTIONS },
          spec: { description: 'ours' },
        }),
      );
      const before = await uids();
      await helm('uninstall', 'wherry');
      expect((await server.run('kubectl', ['get', 'deployment', '-n', SYSTEM, '-o', 'name'])).stdout).toBe('');
      expect(await uids()).toEqual(before);
      await helm('install', 'wherry', chartFolder);
      expect(await uids()).toEqual(before);
      expect((await server.get('keygroup', 'partners', '-n', FUNCTIONS)).spec).toMatchObject({ description: 'ours' });
    },
    MINUTE,
  );

  it(
    'upgrades the kinds, and keeps their objects',
    async () => {
      const chart = path.join(server.folder, 'next/wherry');
      cpSync(chartFolder, chart, { recursive: true });
      const crd = path.join(chart, 'files/crds/keygroups.wherry.dev.yaml');
      const text = readFileSync(crd, 'utf8');
      writeFileSync(crd, text.replace(/^ {4}shortNames:\n/m, '    shortNames:\n      - another\n'));
      expect(readFileSync(crd, 'utf8')).not.toBe(text);
      await helm('upgrade', 'wherry', chart, '--set', 'router.replicas=4');
      expect(await server.get('customresourcedefinition', 'keygroups.wherry.dev')).toMatchObject({
        spec: { names: { shortNames: expect.arrayContaining(['another']) } },
      });
      expect((await server.get('deployment', 'wherry-router', '-n', SYSTEM)).spec).toMatchObject({ replicas: 4 });
      expect((await server.get('keygroup', 'partners', '-n', FUNCTIONS)).spec).toMatchObject({ description: 'ours' });
      await helm('rollback', 'wherry');
      expect((await server.get('deployment', 'wherry-router', '-n', SYSTEM)).spec).toMatchObject({ replicas: 2 });
    },
    MINUTE,
  );

  it(
    'takes over kinds that an administrator installed by hand, when it is configured to',
    async () => {
      await helm('uninstall', 'wherry');
      await kubectl(
        'annotate',
        'customresourcedefinition',
        'keygroups.wherry.dev',
        'meta.helm.sh/release-name-',
        'meta.helm.sh/release-namespace-',
      );
      const { code, stderr } = await server.run('helm', ['install', 'wherry', chartFolder, '--namespace', SYSTEM]);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('keygroups.wherry.dev') });
      await helm('install', 'wherry', chartFolder, '--take-ownership');
      expect((await server.get('keygroup', 'partners', '-n', FUNCTIONS)).spec).toMatchObject({ description: 'ours' });
    },
    MINUTE,
  );
});

describe('the notes of an installation', () => {
  it(
    'name the next steps, with the names of this release',
    async () => {
      const notes = await helm('get', 'notes', 'wherry');
      expect(notes).toContain('get secret wherry-management-key');
      expect(notes).toContain('port-forward service/wherry-router');
      const [, object = ''] = /kubectl apply -f - <<'YAML'\n(.*?)\n\s*YAML/s.exec(notes) ?? [];
      expect(
        await server.must(
          'kubectl',
          ['apply', '--dry-run=server', '--validate=strict', '-f', '-'],
          object.replace(/^ {5}/gm, ''),
        ),
      ).toContain('created');
    },
    MINUTE,
  );
});
