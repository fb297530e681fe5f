import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { startRegistry } from '../cluster/start-registry.ts';
import { testCluster } from '../cluster/test-cluster.ts';
import { eventually } from '../testing/api-client.ts';

/** The cluster itself: what every other suite here takes for granted. */

/** Of this run: an earlier one may be on its way out still. */
const NAMESPACE = `bare-truths-${Date.now().toString(36)}`;
const IMAGE = 'wherry/runtime:0.1.0';
const cluster = testCluster();

/** What Pod Security `restricted` wants. */
const RESTRICTED = {
  securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
  automountServiceAccountToken: false,
};
const container = (script: string): object => ({
  name: 'node',
  image: IMAGE,
  args: ['--eval', script],
  securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
});
const pod = (name: string, script: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: NAMESPACE },
  spec: { ...RESTRICTED, restartPolicy: 'Never', containers: [container(script)] },
});

/** Runs a script in a pod to its end. @returns what it printed */
async function runInPod(name: string, script: string): Promise<string> {
  await cluster.apply(JSON.stringify(pod(name, script)));
  const phase = await eventually(async () => {
    const now = await cluster.kubectl(['get', 'pod', '-n', NAMESPACE, name, '-o', 'jsonpath={.status.phase}']);
    if (!['Succeeded', 'Failed'].includes(now)) throw new Error(`the pod ${name} has not ended: ${now}`);
    return now;
  }, 20_000);
  const logs = (await cluster.kubectl(['logs', '-n', NAMESPACE, name])).trim();
  if (phase === 'Failed') throw new Error(`the pod ${name} failed:\n${logs}`);
  return logs;
}

beforeAll(async () => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } }));
  // The controller gives each namespace its account a moment later; without it no pod is admitted.
  await eventually(() => cluster.kubectl(['get', 'serviceaccount', '-n', NAMESPACE, 'default']));
});
afterAll(() => cluster.kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']));

describe('the cluster', () => {
  it('has a node that is ready', async () => {
    const ready = await cluster.kubectl([
      'get',
      'nodes',
      '-o',
      'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}',
    ]);
    expect(ready).toBe('True');
  });

  it('refuses a pod that requests more than Pod Security `restricted` allows', async () => {
    const asRoot = { ...pod('as-root', ''), spec: { containers: [{ name: 'node', image: IMAGE }] } };
    await expect(cluster.apply(JSON.stringify(asRoot))).rejects.toThrow('violates PodSecurity "restricted:latest"');
  });

  it('runs our image from no registry, as a user without rights on a read-only root', async () => {
    const script = `
      const fs = require("node:fs");
      const attempt = (act) => { try { act(); return "done"; } catch (error) { return error.code; } };
      const write = attempt(() => fs.writeFileSync("/app/x", ""));
      console.log(JSON.stringify({ version: process.version.split(".")[0], uid: process.getuid(), write }));`;
    expect(JSON.parse(await runInPod('unprivileged', script))).toEqual({ version: 'v24', uid: 65532, write: 'EROFS' });
  }, 40_000);

  it('leads a Service to its pods: by cluster DNS from a pod, by a forward from here', async () => {
    const script = 'require("node:http").createServer((_, response) => response.end("hello")).listen(8080)';
    const labels = { app: 'server' };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'server', namespace: NAMESPACE },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { ...RESTRICTED, containers: [container(script)] } },
      },
    };
    const spec = { selector: labels, ports: [{ port: 80, targetPort: 8080 }] };
    const service = { apiVersion: 'v1', kind: 'Service', metadata: deployment.metadata, spec };
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [deployment, service] }));
    await cluster.kubectl(['rollout', 'status', '-n', NAMESPACE, 'deployment/server', '--timeout=30s']);
    const url = `http://server.${NAMESPACE}.svc.cluster.local/`;
    // The pod is ready when it runs, and each node learns of it a moment later.
    const caller = `
      const call = () => fetch("${url}").then((answer) => answer.text());
      const again = (error) => performance.now() < 10_000 ? new Promise((resolve) => setTimeout(resolve, 100)).then(() => call().catch(again)) : Promise.reject(error);
      call().catch(again).then(console.log);`;
    expect(await runInPod('caller', caller)).toBe('hello');
    const forward = await cluster.forwardService({ namespace: NAMESPACE, name: 'server', port: 80 });
    try {
      expect(await eventually(() => fetch(forward.url).then((answer) => answer.text()))).toBe('hello');
    } finally {
      await forward.close();
    }
  }, 60_000);

  it('has a registry of npm packages for pods, which have no way out', async () => {
    const registry = await startRegistry(cluster);
    try {
      const script = `fetch("${registry.url}/ms/2.1.3").then((answer) => answer.json()).then(({ name }) => console.log(name))`;
      expect(await runInPod('npm', script)).toBe('ms');
    } finally {
      await registry.stop();
    }
  }, 40_000);

  it('lets pods reach what a test publishes, and nothing outside', async () => {
    const server = createServer((socket) => socket.end('from the test')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { url, close } = await cluster.publish({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
    try {
      const { hostname, port } = new URL(url);
      const script = `
        require("node:net").connect(${port}, "${hostname}").on("data", (data) => console.log(String(data)));
        require("node:dns").lookup("registry.npmjs.org", (error) => console.log(error.code));`;
      const lines = (await runInPod('outside', script)).split('\n').sort();
      expect(lines).toEqual(['ENOTFOUND', 'from the test']);
    } finally {
      await close();
      server.close();
    }
  }, 40_000);
});
