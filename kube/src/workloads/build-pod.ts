import type {
  V1Container,
  V1EnvVar,
  V1PodSpec,
  V1Probe,
  V1ResourceRequirements,
  V1Volume,
} from '@kubernetes/client-node';
import type { InstanceTemplate } from '@wherry/core/ports/workloads.ts';
import { podSelector } from './build-metadata.ts';
import {
  CALL_PORT,
  CONTAINER_NAME,
  feedCaName,
  FEED_DIRECTORY,
  feedSecretName,
  PROBE_PORT,
  serviceAccountName,
  TERMINATION_LOG,
} from './names.ts';
import type { WorkloadInput } from './workload-settings.ts';

/** The user of distroless images called "nonroot". */
const USER = 65_532;
/** For the exit, on top of the lame-duck time and the time for running calls. */
const MARGIN_SECONDS = 5;
/**
 * The CPU request of an instance that requests nothing: the 110 pods that a kubelet accepts fit on two cores, beside
 * everything else.
 */
const CPU_REQUEST_MILLIS = 5;
const TMP_MIB = 64;
/**
 * What an instance may hold of the node's disk before the kubelet evicts it. It writes nothing but its log: five files
 * of 10 MiB by a kubelet's defaults, of 50 MiB on AKS, and what it writes in the ten seconds between two looks.
 */
const DISK_MIB = 512;
/** Little: the 110 pods that a kubelet accepts fit on 2 GiB. */
const DISK_REQUEST_MIB = 16;
/**
 * An instance may wait at least ten minutes for an operator that is not available, whose feed brings the code. The
 * runtime itself limits how long the code loads, and reports why it failed.
 */
const START_FAILURES = 150;
/** The runtime delays its answer to a probe for almost as long. */
const START_TIMEOUT_SECONDS = 5;
/**
 * How long a call may block the event loop of an instance that has a whole core, before the kubelet replaces it. At two
 * seconds, healthy instances of a node whose cores are all busy missed both probes when the API server came back.
 */
const BLOCKED_SECONDS = 3;
const MAX_BLOCKED_SECONDS = 30;

/**
 * The pod of an instance; it passes Pod Security `restricted`. What Kubernetes would fill in is written out, so that a
 * foreign edit can be distinguished from a default.
 */
export function buildPodSpec({ desired, settings }: WorkloadInput): V1PodSpec {
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

function buildContainer({ desired, settings }: WorkloadInput): V1Container {
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
    ...buildProbes(desired.template),
    // Nobody writes there, so the kubelet takes the end of the log: there the runtime says why code cannot be loaded,
    // and every operator reads it from the pod's status.
    terminationMessagePath: TERMINATION_LOG,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'feed', mountPath: FEED_DIRECTORY, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

/** The environment of a pod's process; the handler sees none of it (S1). */
function buildEnvironment({ desired, settings }: WorkloadInput): V1EnvVar[] {
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
  const memory = byteQuantity(memoryMiB);
  const disk = (mib: number): Record<string, string> => ({ 'ephemeral-storage': byteQuantity(mib) });
  return {
    requests: { memory, cpu: cpuQuantity(cpuMillis ?? CPU_REQUEST_MILLIS), ...disk(DISK_REQUEST_MIB) },
    limits: { memory, ...(cpuMillis === null ? {} : { cpu: cpuQuantity(cpuMillis) }), ...disk(DISK_MIB) },
  };
}

/**
 * It is ready once its code is loaded, and until it receives SIGTERM: there is nothing in between to probe every
 * second. Its event loop is watched from then on, not before, because loading may take long where many start at once;
 * until then the runtime takes no calls. A loop that is blocked for `BLOCKED_SECONDS` has the instance stopped; the
 * kubelet then gives it two seconds, in which the call may still end, and kills it: without more time to drain, which a
 * loop would not use (S3).
 */
function buildProbes({ cpuMillis }: InstanceTemplate): Pick<V1Container, 'startupProbe' | 'livenessProbe'> {
  const probe = (path: string): V1Probe => ({
    httpGet: { path, port: PROBE_PORT, scheme: 'HTTP' },
    periodSeconds: 1,
    timeoutSeconds: 1,
    successThreshold: 1,
    terminationGracePeriodSeconds: 1,
  });
  // What takes three seconds of a core takes thirty of a tenth of one.
  const blockedSeconds = Math.min(
    MAX_BLOCKED_SECONDS,
    Math.ceil(BLOCKED_SECONDS * Math.max(1, 1000 / (cpuMillis ?? 1000))),
  );
  return {
    startupProbe: { ...probe('/startz'), timeoutSeconds: START_TIMEOUT_SECONDS, failureThreshold: START_FAILURES },
    livenessProbe: { ...probe('/livez'), failureThreshold: blockedSeconds },
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
    // In memory: the limit applies to the very write that exceeds it, and the content counts as the instance's memory.
    { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: byteQuantity(TMP_MIB) } },
  ];
}

/**
 * CPU as Kubernetes itself writes it back: `250m`, `2`. A different form of the same value would look like a foreign
 * edit.
 */
function cpuQuantity(millis: number): string {
  return millis % 1000 === 0 ? String(millis / 1000) : `${millis}m`;
}

/** Memory and disk as Kubernetes itself writes them back: `128Mi`, `2Gi`. */
function byteQuantity(mib: number): string {
  return mib % 1024 === 0 ? `${mib / 1024}Gi` : `${mib}Mi`;
}
