import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { TestApiServer } from './api-server.ts';
import { chartFolder, SYSTEM } from './helm.ts';

const root = path.join(import.meta.dirname, '../..');
const FUNCTIONS = 'wherry-functions';
const MINUTE = 60_000;
const guides = [
  'README.md',
  ...['', '-clusters', '-upgrade', '-gitops'].map((name) => `docs/guides/kubernetes${name}.md`),
];

const page = (name: string): string => readFileSync(path.join(root, name), 'utf8');
/** The commands of a page: indented lines, those joined that a backslash parts. */
const commands = (text: string): string[] =>
  [...text.replace(/\\\n\s*/g, '').matchAll(/^ {4}(\S.*)$/gm)].map(([, command]) => command ?? '');
const section = (name: string, heading: string): string =>
  page(name)
    .split(/^## /m)
    .find((text) => text.startsWith(`${heading}\n`)) ?? '';

const server = new TestApiServer();

beforeAll(async () => {
  await server.start();
  await server.must('helm', ['install', 'wherry', chartFolder, '--namespace', SYSTEM, '--create-namespace']);
}, 3 * MINUTE);

afterAll(() => server.stop());

describe('the guides', () => {
  const installs = guides.flatMap((name) =>
    commands(page(name))
      .filter((command) => /^helm (install|upgrade) /.test(command))
      .map((command): [string, string] => [name, command]),
  );

  it('show on each page how to install', () => {
    expect(new Set(installs.map(([name]) => name)).size).toBeGreaterThanOrEqual(4);
  });

  it.each(installs)(
    '%s: %s',
    async (_name, command) => {
      // Onto the release that is there: the same values and the same rendering as for a new one.
      const { code, stderr } = await server.shell(
        `${command.replace('helm install wherry', 'helm upgrade --install wherry')} --dry-run=server`,
      );
      expect({ code, stderr: stderr.trim() }).toEqual({ code: 0, stderr: '' });
    },
    MINUTE,
  );

  it('have YAML that the API server takes', async () => {
    const objects = [...page('docs/guides/kubernetes.md').matchAll(/^```yaml\n(apiVersion.*?)^```$/gms)].map(
      ([, text]) => text ?? '',
    );
    expect(objects).toHaveLength(1);
    for (const text of objects)
      await server.must('kubectl', ['apply', '--dry-run=server', '--validate=strict', '-f', '-'], text);
  });

  it('have values that the chart takes', async () => {
    const [, values = ''] = /^```yaml\n(ingress:.*?)^```$/ms.exec(page('docs/guides/kubernetes.md')) ?? [];
    expect(
      await server.must(
        'helm',
        ['template', chartFolder, '-f', '-', '--kube-version', '1.34.0', '--namespace', SYSTEM],
        values,
      ),
    ).toContain('functions.example.com');
  });
});

describe('examples', () => {
  const manifests = globSync('examples/*/*.yaml', { cwd: root, exclude: ['**/kustomization.yaml'] }).sort();

  it('have manifests', () => {
    expect(manifests).toContain('examples/scheduled-job/cron-job.yaml');
    expect(manifests).toContain('examples/gitops/function.yaml');
  });

  it.each(manifests)(
    '%s is what the API server takes',
    async (file) => {
      const { code, stderr } = await server.shell(
        `kubectl apply -n ${FUNCTIONS} -f ${file} --dry-run=server --validate=strict`,
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    },
    MINUTE,
  );
});

describe('examples/gitops', () => {
  it(
    'has all six kinds, and the API server takes them',
    async () => {
      const { stdout, stderr } = await server.shell(
        `kubectl apply -k examples/gitops --dry-run=server --validate=strict`,
      );
      expect(stderr).toBe('');
      expect(
        stdout
          .trim()
          .split('\n')
          .map((line) => line.split('.')[0])
          .sort(),
      ).toEqual(['apikey', 'codesource', 'function', 'functionsecret', 'keygroup', 'settings']);
    },
    MINUTE,
  );

  it('K4: holds no value of a secret, and no envelope', () => {
    const files = ['api-key', 'function-secret'].map((name) => page(`examples/gitops/${name}.yaml`));
    for (const text of files) expect(text).toMatch(/value:\n {4}secretKeyRef:\n/);
    expect(files.join('')).not.toContain('encrypted:');
  });
});

describe('a backup, made and put back as the guide says', () => {
  const ring = '{"format": 1, "keys": "those of this cluster"}';
  const sealed = {
    apiVersion: 'wherry.dev/v1alpha1',
    kind: 'FunctionSecret',
    metadata: { name: 'sealed', namespace: FUNCTIONS },
    spec: { name: 'SEALED', scope: 'global', value: { encrypted: 'wherry1.AAAAAbound-to-namespace-and-name' } },
  };

  it(
    'has the objects and the Secrets, after all of them are gone, and FT12: each encrypted value and the keys as they were',
    async () => {
      const backup = section('docs/guides/kubernetes-upgrade.md', 'Backup');
      const inFolder = (command: string): string => command.replace(/(\S+\.yaml)/g, `${server.folder}/$1`);
      const run = async (command: string): Promise<void> => {
        const { code, stderr } = await server.shell(inFolder(command));
        expect({ command, code, stderr }).toMatchObject({ code: 0 });
      };
      await run(commands(section('docs/guides/kubernetes-gitops.md', 'Values are not in git')).at(-1) ?? '');
      await server.shell('kubectl apply -k examples/gitops');
      await server.must('kubectl', ['apply', '-f', '-'], JSON.stringify(sealed));
      await server.shell(
        `kubectl create secret generic wherry-encryption-keys -n ${SYSTEM} --from-literal=keys.json='${ring}'; kubectl create secret generic wherry-digest-key -n ${SYSTEM} --from-literal=key=k`,
      );
      const stored = async (): Promise<string> =>
        (
          await server.shell(
            `kubectl get wherry,secrets -n ${FUNCTIONS} -o name; kubectl get secrets -n ${SYSTEM} wherry-encryption-keys wherry-digest-key -o name`,
          )
        ).stdout;
      const before = await stored();
      expect(before.trim().split('\n')).toHaveLength(10);

      const steps = commands(backup);
      for (const command of steps.filter((step) => step.startsWith('kubectl get'))) await run(command);
      await server.shell(
        `kubectl delete wherry --all -n ${FUNCTIONS}; kubectl delete secrets -n ${FUNCTIONS} shop-keys; kubectl delete secrets -n ${SYSTEM} wherry-encryption-keys wherry-digest-key`,
      );
      expect(await stored()).toBe('');
      for (const command of steps.filter((step) => step.startsWith('kubectl apply'))) await run(command);
      expect(await stored()).toBe(before);
      expect(await server.get('functionsecret', 'sealed', '-n', FUNCTIONS)).toMatchObject({ spec: sealed.spec });
      expect(await server.get('secret', 'wherry-encryption-keys', '-n', SYSTEM)).toMatchObject({
        data: { 'keys.json': Buffer.from(ring).toString('base64') },
      });
    },
    MINUTE,
  );
});
