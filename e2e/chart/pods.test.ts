import { everything, render, type Rendered } from './helm.ts';

interface Container {
  name: string;
  env: { name: string; value?: string }[];
  ports: { name: string; containerPort: number }[];
  securityContext: Record<string, unknown>;
  resources: { requests?: object; limits?: { memory?: string } };
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
}

interface Volume {
  name: string;
  emptyDir?: { sizeLimit?: string };
  projected?: { sources: { serviceAccountToken?: object; secret?: { name: string } }[] };
  secret?: { secretName: string };
}

interface Pod {
  serviceAccountName: string;
  automountServiceAccountToken: boolean;
  enableServiceLinks: boolean;
  hostNetwork?: boolean;
  terminationGracePeriodSeconds: number;
  securityContext: Record<string, unknown>;
  containers: Container[];
  volumes: Volume[];
}

const podOf = (deployment: Rendered): Pod => (deployment.spec as { template: { spec: Pod } }).template.spec;
const holdsToken = (volume: Volume): boolean =>
  volume.projected?.sources.some((source) => source.serviceAccountToken !== undefined) === true;

describe.each([
  ['by default', []],
  ['with everything on', ['-f', everything]],
])('the pods %s', (_what, args) => {
  let objects: Rendered[];
  let pods: Record<string, Pod>;
  let containers: Record<string, Container>;

  beforeAll(async () => {
    objects = await render(...args);
    const deployments = objects.filter(({ kind }) => kind === 'Deployment');
    pods = Object.fromEntries(
      deployments.map((deployment) => [deployment.metadata.labels?.['app.kubernetes.io/component'], podOf(deployment)]),
    );
    containers = Object.fromEntries(
      Object.values(pods)
        .flatMap((pod) => pod.containers)
        .map((container) => [container.name, container]),
    );
  });

  it('are three, with five programs', () => {
    expect(Object.keys(pods).sort()).toEqual(['manager', 'operator', 'router']);
    expect(Object.keys(containers).sort()).toEqual(['builder', 'installer', 'manager', 'operator', 'router']);
  });

  it('pass Pod Security restricted, and write to nothing but their volumes', () => {
    for (const pod of Object.values(pods)) {
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 65_532,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(pod.hostNetwork).toBeUndefined();
      for (const volume of pod.volumes) expect(volume).not.toHaveProperty('hostPath');
    }
    for (const { name, securityContext } of Object.values(containers)) {
      expect(securityContext).toEqual({
        ...(name === 'installer' && { runAsUser: 65_533 }),
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('limit what they may take: memory, and every folder of the node', () => {
    for (const { name, resources } of Object.values(containers)) {
      expect({ name, memory: resources.limits?.memory }).toEqual({ name, memory: expect.stringMatching(/[MG]i$/) });
      expect(resources.requests).toBeDefined();
    }
    for (const volume of Object.values(pods).flatMap((pod) => pod.volumes)) {
      if (volume.emptyDir !== undefined) expect(volume.emptyDir.sizeLimit).toBeDefined();
    }
  });

  it('K1: get a token of Kubernetes in operator and manager alone, the builder beside the operator not', () => {
    for (const [component, pod] of Object.entries(pods)) {
      expect({ component, automount: pod.automountServiceAccountToken, links: pod.enableServiceLinks }).toEqual({
        component,
        automount: false,
        links: false,
      });
      const tokens = pod.volumes.filter(holdsToken).map(({ name }) => name);
      const readers = pod.containers.filter((container) =>
        container.volumeMounts.some(({ name }) => tokens.includes(name)),
      );
      expect(readers.map(({ name }) => name)).toEqual(component === 'router' ? [] : [component]);
    }
  });

  it('B1: leave the builder two sockets, its cache and a folder for what passes, and share only the sockets', () => {
    const mounts = (name: string): string[] => containers[name]!.volumeMounts.map((mount) => mount.name);
    const shared = (one: string, other: string): string[] => mounts(one).filter((name) => mounts(other).includes(name));
    expect(shared('builder', 'operator')).toEqual(['builder-socket']);
    expect(shared('builder', 'installer')).toEqual(['installer-socket']);
    expect(shared('operator', 'installer')).toEqual([]);
    const folders = pods.operator!.volumes.filter((volume) => 'emptyDir' in volume).map(({ name }) => name);
    expect(mounts('builder').filter((name) => !folders.includes(name))).toEqual([]);
  });

  it("B1: show the registry's token to the installer alone, which shares no process with the builder and has another user", () => {
    const users = pods
      .operator!.containers.filter(({ env }) => JSON.stringify(env).includes('WHERRY_NPM_TOKEN'))
      .map(({ name }) => name);
    expect(users).toEqual(args.length === 0 ? [] : ['installer']);
    expect(pods.operator).not.toHaveProperty('shareProcessNamespace');
    const userOf = (name: string): unknown =>
      containers[name]!.securityContext['runAsUser'] ?? pods.operator!.securityContext['runAsUser'];
    expect(userOf('installer')).not.toBe(userOf('builder'));
  });

  it('show each Secret to the program that needs it', () => {
    const secrets = (component: string): string[] =>
      pods[component]!.volumes.flatMap((volume) => [
        volume.secret?.secretName,
        ...(volume.projected?.sources.map((source) => source.secret?.name) ?? []),
      ]).flatMap((name) => (name === undefined ? [] : [name.replace(/^[a-z]+-/, '')]));
    expect(secrets('operator')).toEqual([]);
    expect(secrets('router')).toEqual(['router-tls']);
    expect(secrets('manager').sort()).toEqual(['management-key', 'manager-tls', 'setup-token']);
  });

  it('give a router the time to announce its end and to finish its calls', () => {
    const env = (name: string): number =>
      Number(containers.router!.env.find((variable) => variable.name === name)?.value);
    expect(pods.router!.terminationGracePeriodSeconds).toBeGreaterThan(
      env('WHERRY_LAME_DUCK_SECONDS') + env('WHERRY_DRAIN_SECONDS'),
    );
  });

  it('are what the Services and budgets select, by ports that they have', () => {
    const services = objects.filter(
      ({ kind, spec }) => kind === 'Service' && (spec as { selector: object }).selector !== undefined,
    );
    expect(services.length).toBeGreaterThanOrEqual(3);
    for (const { metadata, spec } of services) {
      const { selector, ports } = spec as { selector: Record<string, string>; ports: { targetPort: string }[] };
      const chosen = Object.entries(pods).filter(
        ([component]) => (selector['app.kubernetes.io/component'] ?? component) === component,
      );
      const names = chosen
        .flatMap(([, pod]) => pod.containers)
        .flatMap((container) => container.ports.map(({ name }) => name));
      for (const { targetPort } of ports)
        expect({ service: metadata.name, names }).toEqual({
          service: metadata.name,
          names: expect.arrayContaining([targetPort]),
        });
    }
  });
});

it('a single operator has no budget, which would keep its node from being drained', async () => {
  const budgets = (await render())
    .filter(({ kind }) => kind === 'PodDisruptionBudget')
    .map(({ metadata }) => metadata.name);
  expect(budgets).toEqual(['wherry-router']);
});

it('what holds data stays when the release goes', async () => {
  const kept = (await render()).filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] === 'keep');
  expect(kept.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Namespace', 'PersistentVolumeClaim']));
  const crds = (await render()).filter(({ kind }) => kind === 'CustomResourceDefinition');
  expect(kept).toEqual(expect.arrayContaining(crds));
});
