/** Names, label keys and ports of everything that a function's pods are made of. */

/** The field manager of everything that a function's pods are made of. */
export const FIELD_MANAGER = 'wherry-operator';

export const NAME_LABEL = 'app.kubernetes.io/name';
export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
/** The Function's name. */
export const FUNCTION_LABEL = 'wherry.dev/function';
/** The workload's name: one pair of artifact and template. */
export const WORKLOAD_LABEL = 'wherry.dev/workload';
/** The first 63 digits of the artifact's digest: as many as a label holds. */
export const REVISION_LABEL = 'wherry.dev/revision';
/** Annotations: the whole digest of the artifact, and the uid of the Function. */
export const REVISION_ANNOTATION = 'wherry.dev/revision';
export const FUNCTION_UID_ANNOTATION = 'wherry.dev/function-uid';

/** `app.kubernetes.io/name` of all function pods. */
export const FUNCTION_POD_NAME = 'wherry-function';
export const MANAGED_BY = 'wherry';

export const CONTAINER_NAME = 'function';
/** Where an instance takes calls. */
export const CALL_PORT = 8080;
/** `/livez` and `/readyz`. */
export const PROBE_PORT = 8081;
/** Where a pod finds its token and the feed's authority. */
export const FEED_DIRECTORY = '/etc/wherry/feed';
/**
 * Where the kubelet mounts a pod's termination log, which everybody could write, and counts for no limit of the pod's:
 * a folder of the runtime's image that is closed to a pod's user.
 */
export const TERMINATION_LOG = '/app/root-only/termination-log';
/** ConfigMap in the namespace of functions: `ca.crt` of the feed. The operator creates it. */
export function feedCaName(releaseName: string): string {
  return `${releaseName}-feed-ca`;
}

/** The Secret that holds a function's feed token under `token`. */
export function feedSecretName(functionName: string): string {
  return `${functionName}-feed`;
}

/** The ServiceAccount of all function pods: it has no rights. The chart creates it. */
export function serviceAccountName(releaseName: string): string {
  return `${releaseName}-function`;
}

/**
 * A workload's Service: its own name, but a Service's name may not begin with a digit. The hash at its end keeps it
 * unique.
 */
export function serviceName(workload: string): string {
  return /^[a-z]/.test(workload) ? workload : `w${workload.slice(-62)}`;
}
