import type { MetricDefinition, MetricType } from '../ports/metrics.ts';

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
    'From handing a call to an instance to its end.',
    FUNCTION,
  ),
  functionInfo: gauge('router', 'function_info', 'The revision of a function that answers its calls: always 1.', [
    ...FUNCTION,
    'function_revision',
  ]),
  functionInFlight: gauge('router', 'function_inflight', 'Calls that an instance is working on.', FUNCTION),
  routerOverhead: histogram('router', 'router_overhead_seconds', "From a call's arrival to handing it to an instance."),
  authRejections: counter('router', 'auth_rejections_total', 'Calls refused for their key.', ['reason']),
  invocationFailures: counter('router', 'invocation_failures_total', 'Calls that failed on the way.', [
    'component',
    'reason',
  ]),
  routerTelemetryDropped: counter('router', 'telemetry_dropped_total', 'Log entries that were dropped.'),
  telemetryDropped: counter(
    'operator',
    'telemetry_dropped_total',
    'Log entries that were dropped, by who sent them and why.',
    ['component', 'reason'],
  ),
  reconciles: counter('operator', 'reconcile_total', 'Reconciles, by how they ended.', ['controller', 'result']),
  reconcileDuration: histogram('operator', 'reconcile_duration_seconds', 'How long reconciles took.', ['controller']),
  builds: counter('operator', 'build_total', 'Builds, by how they ended.', ['result']),
  buildDuration: histogram('operator', 'build_duration_seconds', 'How long builds took.'),
  feedConnections: gauge('operator', 'feed_connections', 'Clients that the feed serves, by role.', ['role']),
  feedRefusals: counter('operator', 'feed_refusals_total', 'Connections to the feed that were cut, by reason.', [
    'reason',
  ]),
  undecryptableValues: gauge('operator', 'undecryptable_values', 'Objects whose encrypted value does not open.', [
    'kind',
  ]),
  buildProcesses: counter('builder', 'build_processes_total', 'Build processes, by whether one stood ready.', [
    'start',
  ]),
  npmResolutions: counter('builder', 'npm_resolutions_total', 'Resolutions of npm packages, by outcome.', ['outcome']),
  npmTarballs: counter(
    'builder',
    'npm_tarballs_total',
    'Tarballs of npm packages that builds requested, by where they came from.',
    ['from'],
  ),
  leader: gauge('kube', 'leader', '1 where this process leads, else 0.'),
  replicas: gauge('operator', 'replicas', 'Instances of functions, by state.', ['state']),
  runtimeProcesses: gauge('embedded', 'replicas', 'Runtime processes, by state.', ['state']),
  coldStarts: counter('embedded', 'cold_starts_total', 'Instances that were started for a function.'),
  instanceDeaths: counter(
    'embedded',
    'instance_deaths_total',
    'Instances that ended before they were stopped, by cause.',
    ['cause'],
  ),
  managementRequestDuration: histogram(
    'manager',
    'management_request_duration_seconds',
    'Requests of the management API.',
    ['operation', 'code'],
  ),
  logEntriesLost: counter('manager', 'log_entries_lost_total', 'Log entries that the log database did not take.'),
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
