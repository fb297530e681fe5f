import type { V1Container, V1EnvVar, V1PodSpec, V1Probe, V1ResourceRequirements, V1Volume } from '@kubernetes/client-node';
import type { InstanceTemplate } from '@wherry/core/ports/workloads.ts';
import { podSelector } from './build-metadata.ts';
import {
  CALL_PORT, CONTAINER_NAME, feedCaName, FEED_DIRECTORY, feedSecretName, PROBE_PORT, serviceAccountName,
} from './names.ts';
import { cpuQuantity, memoryQuantity } from './quantities.ts';
import type { BuildInput } from './workload-settings.ts';

/** The user of distroless images called "nonroot". */
const USER = 65_532;
/** For the way out, on top of the lame-duck time and of what running calls have. */
const MARGIN_SECONDS = 5;
/** What an instance is promised at most: the 110 pods that a kubelet takes shall find room on two cores, beside what else is there. */
const CPU_REQUEST_MILLIS = 5;
const TMP_MIB = 64;
/** An instance may wait so long for an operator that is away. The runtime itself times how long its code loads, and says why it failed. */
const START_SECONDS = 3600;

/**
 * The pod of an instance; it passes Pod Security `restricted`. What Kubernetes would fill in is written out, so that a
 * foreign edit of it is told from a default.
 */
export function buildPodSpec({ desired, settings }: BuildInput): V1PodSpec {
  const account = serviceAccountName(settings.name);
  return {
    serviceAccountName: account,
    serviceAccount: account,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    terminationGracePeriodSeconds: desired.drainSeconds + settings.lameDuckSeconds + MARGIN_SECONDS,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      fsGroup: USER,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    // Instances of one workload on different nodes, where there are several.
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: podSelector(desired) },
      },
    ],
    containers: [buildContainer({ desired, settings })],
    volumes: buildVolumes(desired.functionName, settings.name),
  };
}

function buildContainer({ desired, settings }: BuildInput): V1Container {
  return {
    name: CONTAINER_NAME,
    image: settings.image,
    imagePullPolicy: settings.imagePullPolicy,
    env: buildEnvironment({ desired, settings }),
    ports: [
      { name: 'calls', containerPort: CALL_PORT, protocol: 'TCP' },
      { name: 'probes', containerPort: PROBE_PORT, protocol: 'TCP' },
    ],
    resources: buildResources(desired.template),
    securityContext: {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    },
    ...buildProbes(),
    // Why code does not load stands there, and is read from the pod's status by every operator.
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'feed', mountPath: FEED_DIRECTORY, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

/** All that a pod's process is told; the handler sees none of it (S1). */
function buildEnvironment({ desired, settings }: BuildInput): V1EnvVar[] {
  return [
    { name: 'WHERRY_FEED_ADDRESS', value: settings.feedAddress },
    { name: 'WHERRY_FEED_DIRECTORY', value: FEED_DIRECTORY },
    { name: 'WHERRY_WORKLOAD', value: desired.name },
    { name: 'WHERRY_FUNCTION_UID', value: desired.functionUid },
    { name: 'WHERRY_INSTANCE', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
    { name: 'WHERRY_LAME_DUCK_SECONDS', value: String(settings.lameDuckSeconds) },
  ];
}

function buildResources({ memoryMiB, cpuMillis }: InstanceTemplate): V1ResourceRequirements {
  const memory = memoryQuantity(memoryMiB);
  return {
    requests: { memory, cpu: cpuQuantity(Math.min(cpuMillis ?? CPU_REQUEST_MILLIS, CPU_REQUEST_MILLIS)) },
    limits: { memory, ...(cpuMillis === null ? {} : { cpu: cpuQuantity(cpuMillis) }) },
  };
}

/**
 * It is ready once its code is loaded, and until it is told to go: there is nothing between to ask for each second. Only then
 * is its event loop watched, for to load may take long where many start at once. A call that blocks the loop for two
 * seconds survives; one that never ends is killed after three failed probes, without the time to drain that it would not
 * use (S3).
 */
function buildProbes(): Pick<V1Container, 'startupProbe' | 'livenessProbe'> {
  const get = (path: string): V1Probe => ({
    httpGet: { path, port: PROBE_PORT, scheme: 'HTTP' },
    periodSeconds: 1,
    timeoutSeconds: 1,
    successThreshold: 1,
  });
  return {
    startupProbe: { ...get('/readyz'), failureThreshold: START_SECONDS, terminationGracePeriodSeconds: 1 },
    livenessProbe: { ...get('/livez'), failureThreshold: 3, terminationGracePeriodSeconds: 1 },
  };
}

function buildVolumes(functionName: string, releaseName: string): V1Volume[] {
  return [
    {
      name: 'feed',
      projected: {
        defaultMode: 0o440,
        sources: [
          { secret: { name: feedSecretName(functionName), items: [{ key: 'token', path: 'token' }] } },
          { configMap: { name: feedCaName(releaseName), items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        ],
      },
    },
    // In memory: the limit holds at the very write that breaks it, and counts as the instance's memory.
    { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: memoryQuantity(TMP_MIB) } },
  ];
}
