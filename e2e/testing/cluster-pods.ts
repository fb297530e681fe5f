import type { Cluster } from '../cluster/cluster.ts';

/** A container of a pod. */
export interface PodPlace {
  namespace: string;
  pod: string;
  container?: string;
}

/** The image that every node has, with Node as its entrypoint. */
const IMAGE = 'wherry/runtime:0.1.0';

/** Runs a script in a container that has Node. @returns the value that it printed as JSON */
export async function evaluateIn<T>(
  cluster: Cluster,
  { namespace, pod, container }: PodPlace,
  script: string,
  ...values: string[]
): Promise<T> {
  const where = ['-n', namespace, pod, ...(container === undefined ? [] : ['-c', container])];
  return JSON.parse(
    await cluster.kubectl(['exec', ...where, '--', 'node', '--eval', script, ...values], { timeoutMs: 30_000 }),
  ) as T;
}

/**
 * A pod that passes Pod Security `restricted` and does nothing but wait, to do something from there. It is ready on
 * return.
 */
export async function startIdlePod(
  cluster: Cluster,
  { namespace, pod }: PodPlace,
  labels: Record<string, string> = {},
): Promise<void> {
  const container = {
    name: 'idle',
    image: IMAGE,
    args: ['--eval', 'process.once("SIGTERM", () => process.exit()); setInterval(() => undefined, 60_000);'],
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  };
  const spec = {
    securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [container],
  };
  await cluster.apply(
    JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: pod, namespace, labels }, spec }),
  );
  await cluster.kubectl(['wait', '-n', namespace, `pod/${pod}`, '--for=condition=Ready', '--timeout=60s']);
}

/** A pod as the API returns it, as far as tests use it. */
export interface PodObject {
  metadata: {
    name: string;
    namespace: string;
    deletionTimestamp?: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec: {
    hostNetwork?: boolean;
    volumes?: { projected?: { sources: object[] } }[];
    containers: { name: string; ports?: { containerPort: number; name?: string }[] }[];
  };
  status: {
    podIP?: string;
    phase: string;
    containerStatuses?: {
      name: string;
      restartCount: number;
      lastState: { terminated?: { reason: string; exitCode: number } };
    }[];
  };
}

/** The pods of a namespace that bear these labels. */
export async function podsOf(
  cluster: Cluster,
  namespace: string,
  labels: Record<string, string> = {},
): Promise<PodObject[]> {
  const selector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  const text = await cluster.kubectl([
    'get',
    'pods',
    '-n',
    namespace,
    '-o',
    'json',
    ...(selector === '' ? [] : ['-l', selector]),
  ]);
  return (JSON.parse(text) as { items: PodObject[] }).items;
}

/** The one running pod of a program of the release. */
export async function programPod(cluster: Cluster, component: string): Promise<PodObject> {
  const pods = await podsOf(cluster, 'wherry-system', {
    'app.kubernetes.io/name': 'wherry',
    'app.kubernetes.io/component': component,
  });
  return runningOf(pods, component);
}

/** A running pod of a function, which the REST API names by its id. */
export async function functionPod(cluster: Cluster, functionId: string): Promise<PodObject> {
  return runningOf(await podsOf(cluster, 'wherry-functions', { 'wherry.dev/function': functionId }), functionId);
}

function runningOf(pods: PodObject[], whose: string): PodObject {
  const found = pods.find(({ status }) => status.phase === 'Running');
  if (found === undefined)
    throw new Error(
      `no pod of ${whose} runs: ${pods.map(({ metadata, status }) => `${metadata.name} ${status.phase}`).join(', ')}`,
    );
  return found;
}
