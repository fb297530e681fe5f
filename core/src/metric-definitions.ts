import type { MetricDefinition, MetricType } from './ports/metrics.ts';

/** The part that makes a metric: `router` in its process, the others in the service's or in their own of a cluster. */
type MetricPart = 'router' | 'operator' | 'builder' | 'kube' | 'embedded' | 'manager';

interface ListedMetric<T extends MetricType> extends MetricDefinition<T> {
  readonly part: MetricPart;
}

const FUNCTION = ['function_namespace', 'function_name'];

/** Every metric of Wherry's programs; `docs/reference/metrics.md` says what each counts. */
export const METRICS = {
  functionCalls: counter('router', 'function_calls_total', 'Calls whose function was known, by outcome.', [
    ...FUNCTION,
    'route',
    'method',
    'code',
  ]),
  functionDuration: histogram(
    'router',
    'function_duration_seconds',
    'Time from handing a call to an instance until the call ends.',
    FUNCTION,
  ),
  functionInfo: gauge('router', 'function_info', 'The revision that answers the calls of a function; always 1.', [
    ...FUNCTION,
    'function_revision',
  ]),
  functionInFlight: gauge('router', 'function_inflight', 'Calls that instances are handling at the moment.', FUNCTION),
  routerStateAge: gauge(
    'router',
    'router_state_age_seconds',
    'Time since the feed last confirmed or changed the state of the router.',
  ),
  routerOverhead: histogram(
    'router',
    'router_overhead_seconds',
    "Time from a call's arrival until it is handed to an instance.",
  ),
  authRejections: counter('router', 'auth_rejections_total', 'Calls rejected because of their API key.', ['reason']),
  invocationFailures: counter(
    'router',
    'invocation_failures_total',
    'Calls that failed in the router or in the function.',
    ['component', 'reason'],
  ),
  routerTelemetryDropped: counter('router', 'telemetry_dropped_total', 'Log entries that were dropped.'),
  executionMetricsDropped: counter(
    'router',
    'execution_metrics_dropped_total',
    'Executions that are missing in the metrics of the API, because these could not be stored for too long.',
  ),
  telemetryDropped: counter(
    'operator',
    'telemetry_dropped_total',
    'Log entries that were dropped, by sender and reason.',
    ['component', 'reason'],
  ),
  reconciles: counter('operator', 'reconcile_total', 'Reconciles, by result.', ['controller', 'result']),
  reconcileDuration: histogram('operator', 'reconcile_duration_seconds', 'Duration of reconciles.', ['controller']),
  builds: counter('operator', 'build_total', 'Builds, by result.', ['result']),
  buildDuration: histogram('operator', 'build_duration_seconds', 'Duration of builds.'),
  feedConnections: gauge('operator', 'feed_connections', 'Clients connected to the feed, by role.', ['role']),
  feedRefusals: counter(
    'operator',
    'feed_refusals_total',
    'Connections to the feed that were refused or closed, by reason.',
    ['reason'],
  ),
  functionReplicasDesired: gauge(
    'operator',
    'function_replicas_desired',
    'Instances that a function should have.',
    FUNCTION,
  ),
  functionReplicasReady: gauge(
    'operator',
    'function_replicas_ready',
    'Instances of a function that take calls.',
    FUNCTION,
  ),
  functionConditions: gauge(
    'operator',
    'function_status_condition',
    'Conditions of a function: 1 for the status that a condition has, 0 for the others.',
    [...FUNCTION, 'condition', 'status'],
  ),
  certificateExpiry: gauge(
    'operator',
    'certificate_expiry_timestamp_seconds',
    'When an internal certificate expires, in seconds since 1970 UTC.',
    ['certificate'],
  ),
  undecryptableValues: gauge('operator', 'undecryptable_values', 'Objects whose encrypted value cannot be decrypted.', [
    'kind',
  ]),
  buildProcesses: counter('builder', 'build_processes_total', 'Build processes, by whether a spare one was ready.', [
    'start',
  ]),
  npmResolutions: counter('builder', 'npm_resolutions_total', 'Resolutions of npm packages, by outcome.', ['outcome']),
  npmTarballs: counter(
    'builder',
    'npm_tarballs_total',
    'Tarballs of npm packages that builds requested, by where they came from.',
    ['from'],
  ),
  leader: gauge('kube', 'leader', '1 if this process is the leader, 0 otherwise.'),
  replicas: gauge('operator', 'replicas', 'Instances of functions, by state.', ['state']),
  runtimeProcesses: gauge('embedded', 'replicas', 'Runtime processes, by state.', ['state']),
  coldStarts: counter('embedded', 'cold_starts_total', 'Instances that were started for a function.'),
  instanceDeaths: counter(
    'embedded',
    'instance_deaths_total',
    'Instances that ended without being stopped, by cause.',
    ['cause'],
  ),
  managementRequestDuration: histogram(
    'manager',
    'management_request_duration_seconds',
    'Duration of requests to the management API.',
    ['operation', 'code'],
  ),
  dataDiskSize: gauge('manager', 'data_disk_size_bytes', 'Size of the disk with the data.'),
  dataDiskFree: gauge('manager', 'data_disk_free_bytes', 'Free space on the disk with the data.'),
  rotationInProgress: gauge(
    'manager',
    'encryption_rotation_in_progress',
    '1 while the encryption key is being rotated, 0 otherwise.',
  ),
  rotationValues: gauge(
    'manager',
    'encryption_rotation_values',
    'Encrypted values in the rotation that runs, else in the last one, by state.',
    ['state'],
  ),
  rotations: counter('manager', 'encryption_rotations_total', 'Rotations of the encryption key, by result.', [
    'result',
  ]),
  encryptionKeyCreated: gauge(
    'manager',
    'encryption_key_created_timestamp_seconds',
    'When the active encryption key was made, in seconds since 1970.',
  ),
  logEntriesLost: counter(
    'manager',
    'log_entries_lost_total',
    'Log entries that were not written to the log database.',
  ),
};

function counter(part: MetricPart, name: string, help: string, labels: string[] = []): ListedMetric<'counter'> {
  return { part, type: 'counter', name, help, labels };
}

function gauge(part: MetricPart, name: string, help: string, labels: string[] = []): ListedMetric<'gauge'> {
  return { part, type: 'gauge', name, help, labels };
}

function histogram(part: MetricPart, name: string, help: string, labels: string[] = []): ListedMetric<'histogram'> {
  return { part, type: 'histogram', name, help, labels };
}
