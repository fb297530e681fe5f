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
} from './names.ts';
import type { WorkloadInput } from './workload-settings.ts';

/** The user of distroless images called "nonroot". */
const USER = 65_532;
/** For the way out, on top of the lame-duck time and of what running calls have. */
const MARGIN_SECONDS = 5;
/**
 * The CPU request of an instance that requests nothing: the 110 pods that a kubelet takes fit on two cores, beside what
 * else is there.
 */
const CPU_REQUEST_MILLIS = 5;
const TMP_MIB = 64;
/**
 * For ten minutes at least an instance may wait for an operator that is away, whose feed brings the code. The runtime
 * itself times how long that loads, and says why it failed.
 */
const START_FAILURES = 150;
/** The runtime keeps a probe waiting for almost as long. */
const START_TIMEOUT_SECONDS = 5;
/**
 * How long a call may block the event loop of an instance that has a whole core, before the kubelet replaces it. At two
 * seconds, healthy instances of a node whose cores are all busy missed both probes when the API server came back.
 */
const BLOCKED_SECONDS = 3;
const MAX_BLOCKED_SECONDS = 30;

/**
 * The pod of an instance; it passes Pod Security `restricted`. What Kubernetes would fill in is written out, so that a
 * foreign edit of it is distinguished from a default.
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
    // Why code does not load stands there, and is read from the pod's status by every operator.
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'feed', mountPath: FEED_DIRECTORY, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

/** All that a pod's process is given; the handler sees none of it (S1). */
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
  const memory = memoryQuantity(memoryMiB);
  return {
    requests: { memory, cpu: cpuQuantity(cpuMillis ?? CPU_REQUEST_MILLIS) },
    limits: { memory, ...(cpuMillis === null ? {} : { cpu: cpuQuantity(cpuMillis) }) },
  };
}

/**
 * It is ready once its code is loaded, and until it receives SIGTERM: there is nothing between to probe each second.
 * Its event loop is watched from then on, and not before, for to load may take long where many start at once; the
 * runtime takes no call before. A loop that is blocked for `BLOCKED_SECONDS` has the instance stopped; the kubelet then
 * gives it two seconds, in which the call may still end, and kills it: without more time to drain, which a loop would
 * not use (S3).
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
    // In memory: the limit holds at the very write that breaks it, and counts as the instance's memory.
    { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: memoryQuantity(TMP_MIB) } },
  ];
}

/** CPU as Kubernetes itself writes it back: `250m`, `2`. Another form of the same would look like a foreign edit. */
function cpuQuantity(millis: number): string {
  return millis % 1000 === 0 ? String(millis / 1000) : `${millis}m`;
}

/** Memory as Kubernetes itself writes it back: `128Mi`, `2Gi`. */
function memoryQuantity(mib: number): string {
  return mib % 1024 === 0 ? `${mib / 1024}Gi` : `${mib}Mi`;
}
