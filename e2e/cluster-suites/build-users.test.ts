import { randomUUID } from 'node:crypto';
import { testCluster } from '../cluster/test-cluster.ts';
import { evaluateIn } from '../testing/cluster-pods.ts';

/*
 * What a builder that was taken over could read. Its container and the installer's are those of the operator's pod, in
 * a pod of this suite, where the installer has a token of a registry.
 */

const cluster = testCluster();
const SYSTEM = 'wherry-system';
const POD = 'build-users';
const REGISTRY_PORT = 4873;
const TOKEN = `npm_${randomUUID()}`;

/** Who it is, which processes it sees, and where it finds a text: in files, environments, command lines and memory. */
const LOOK_AROUND = `
  const fs = require('node:fs');
  const text = process.argv[1];
  const tried = (act) => { try { return act(); } catch { return undefined; } };
  const found = [];
  const search = (path) => { if (tried(() => fs.readFileSync(path).includes(text))) found.push(path); };
  const walk = (folder) => {
    for (const entry of tried(() => fs.readdirSync(folder, { withFileTypes: true })) ?? []) {
      const path = folder + '/' + entry.name;
      if (entry.isDirectory() && !['/proc', '/sys', '/dev'].includes(path)) walk(path);
      else if (entry.isFile() && (tried(() => fs.statSync(path).size) ?? 0) < 64 * 1048576) search(path);
    }
  };
  walk('');
  const pids = fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && name !== String(process.pid));
  for (const pid of pids) for (const file of ['environ', 'cmdline']) search('/proc/' + pid + '/' + file);
  const commands = pids.map((pid) => tried(() => fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8').replaceAll('\\0', ' ').trim()));
  const own = Object.entries(process.env).filter(([, value]) => value.includes(text)).map(([name]) => name);
  console.log(JSON.stringify({ uid: process.getuid(), found, own, commands, volumes: tried(() => fs.readdirSync('/run')), kubernetes: fs.existsSync('/var/run/secrets') }));`;

/** Stands for the registry, which the pod's containers reach alike, and requests a package of it from the installer. */
const PROBE = `
  const { createServer } = require('node:http');
  let shown;
  const registry = createServer((request, response) => { shown = request.headers.authorization; response.writeHead(404).end(); });
  registry.listen(${REGISTRY_PORT}, '127.0.0.1', () => {
    const installer = require('node:net').connect('/run/wherry-installer/installer.sock');
    installer.write(JSON.stringify({ type: 'tarball', id: 1, name: 'one', version: '1.0.0', integrity: 'sha512-x' }) + '\\n');
    installer.once('data', (line) => { console.log(JSON.stringify({ shown, answer: JSON.parse(line) })); process.exit(); });
    installer.once('error', ({ code }) => { console.log(JSON.stringify({ code })); process.exit(); });
  });`;

interface Seen {
  uid: number;
  found: string[];
  own: string[];
  commands: string[];
  volumes: string[];
  kubernetes: boolean;
}
const lookFrom = (container: string): Promise<Seen> =>
  evaluateIn<Seen>(cluster, { namespace: SYSTEM, pod: POD, container }, LOOK_AROUND, TOKEN);

beforeAll(async () => {
  await cluster.apply(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: POD, namespace: SYSTEM },
      stringData: { token: TOKEN },
    }),
  );
  const { spec } = JSON.parse(
    await cluster.kubectl(['get', 'deployment', '-n', SYSTEM, 'wherry-operator', '-o', 'jsonpath={.spec.template}']),
  ) as { spec: { containers: { name: string; env: object[] }[] } };
  const containers = spec.containers.filter(({ name }) => name !== 'operator');
  const variable = { name: 'WHERRY_NPM_TOKEN', valueFrom: { secretKeyRef: { name: POD, key: 'token' } } };
  // What comes later of the same name is what counts.
  containers
    .find(({ name }) => name === 'installer')
    ?.env.push(variable, { name: 'WHERRY_NPM_REGISTRY', value: `http://127.0.0.1:${REGISTRY_PORT}/` });
  await cluster.apply(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: POD, namespace: SYSTEM },
      spec: { ...spec, containers },
    }),
  );
  await cluster.kubectl(['wait', '-n', SYSTEM, `pod/${POD}`, '--for=condition=Ready', '--timeout=90s']);
}, 120_000);

afterAll(async () => {
  await cluster.kubectl(['delete', 'pod,secret', '-n', SYSTEM, POD, '--ignore-not-found', '--wait=false']);
});

describe("B1: the registry's token in the operator's pod", () => {
  it('is in the container of the installer', async () => {
    const seen = await lookFrom('installer');
    expect(seen).toMatchObject({ uid: 65_533, own: ['WHERRY_NPM_TOKEN'], kubernetes: false });
    expect(seen.found).toContain('/proc/1/environ');
  });

  it('is shown to the registry when a build needs a package, by the installer', async () => {
    const result = await evaluateIn(cluster, { namespace: SYSTEM, pod: POD, container: 'builder' }, PROBE);
    expect(result).toEqual({
      shown: `Bearer ${TOKEN}`,
      answer: expect.objectContaining({ type: 'failed', id: 1, reason: 'PackageNotFound' }),
    });
  });

  it('is in no file, environment or command line that the container of builds has, which sees no process of the installer', async () => {
    const seen = await lookFrom('builder');
    expect(seen).toMatchObject({ uid: 65_532, own: [], found: [], kubernetes: false });
    expect(seen.commands).toContainEqual(expect.stringContaining('/app/main.js'));
    expect(seen.commands.filter((command) => command.includes('installer'))).toEqual([]);
    expect(seen.volumes.sort()).toEqual(expect.arrayContaining(['wherry', 'wherry-installer']));
  });
});
