import { HOURS_KEPT, MINUTES_KEPT } from '@wherry/manager/metric-store/open-metric-store.ts';
import { metricBytesOfFunction } from '@wherry/manager/metric-store/metric-size.ts';
import { SETTINGS } from '@wherry/core/settings-definitions.ts';
import { routerEnvironment } from '@wherry/router/config.ts';
import { ROUTER_LIMITS } from '@wherry/router/limits.ts';
import { PACKAGE_LIMITS } from '@wherry/builder/packages/create-package-registry.ts';
import { MAX_KEYS } from '@wherry/service/keys/ring-transitions.ts';
import { embeddedEnvironment } from '../../config.ts';
import {
  answered,
  bytes,
  days,
  fixed,
  mebibytes,
  milliseconds,
  number,
  ofSetting,
  ofVariable,
  seconds,
  type LimitRow,
} from './limit-row.ts';

const MIB = 1024 * 1024;
/** Rounded up. */
const toMebibytes = (value: number): number => Math.ceil(value / MIB) * MIB;

/** For operators. */
export const LIMITS_OF_OPERATORS: readonly LimitRow[] = [
  ofVariable(
    'Log database',
    { environment: embeddedEnvironment, name: 'WHERRY_TELEMETRY_MIB', format: mebibytes },
    'The oldest entries of the functions with the most entries are removed',
  ),
  ofSetting('Age of a log entry', 'log.trimming.retention-seconds', seconds, 'It is removed; 0 keeps entries forever'),
  ofSetting(
    'Log entries of a function, and of its rejected calls',
    'log.trimming.max-per-function',
    number,
    'The oldest are removed',
  ),
  ofSetting(
    'Time between two removals of old log entries',
    'log.trimming.interval-seconds',
    seconds,
    'Old entries are removed',
  ),
  ofSetting('Log entries of one batch', 'log.batching.max-batch-size', number, 'The batch is sent'),
  ofSetting('Wait of a log entry for its batch', 'log.batching.max-delay-ms', milliseconds, 'The batch is sent'),
  fixed(
    'Log entries of refused calls, of one function',
    `${number(ROUTER_LIMITS.refusalEntries)} in ${milliseconds(ROUTER_LIMITS.refusalWindowMs)}`,
    'Further calls are counted in one entry for each reason',
  ),
  fixed('Metrics by the minute', seconds(MINUTES_KEPT * 60), 'They are removed'),
  fixed('Metrics by the hour', seconds(HOURS_KEPT * 3600), 'They are removed'),
  ofSetting('Metrics by the day', 'metrics.retention-days', days, 'They are removed'),
  fixed(
    'Metrics of a function on the disk, where its calls have all durations from 1 µs to 1 h',
    bytes(toMebibytes(metricBytesOfFunction(Number(SETTINGS['metrics.retention-days'].default)))),
    'There is never more, because metrics are removed by age; those of a deleted function stay as long',
  ),
  ofSetting(
    'Time between two reports of metrics',
    'metrics.aggregation-interval-seconds',
    seconds,
    'The router sends what it has counted',
  ),
  ofSetting('Age of an audit record', 'audit.retention-days', days, 'It is removed'),
  ofSetting('Age of an encryption key', 'encryption.key-rotation.interval-days', days, 'It is rotated'),
  fixed('Encryption keys', number(MAX_KEYS), `A rotation gets ${answered('conflict')}`),
  ofSetting(
    'Time between two checks of that age',
    'encryption.key-rotation.check-interval-seconds',
    seconds,
    'The age is checked',
  ),
  ofSetting(
    'Values that are re-encrypted in one batch',
    'encryption.key-rotation.batch-size',
    number,
    'A pause follows',
  ),
  ofSetting(
    'Pause between two such batches',
    'encryption.key-rotation.batch-sleep-ms',
    milliseconds,
    'The next batch begins',
  ),
  fixed(
    'Tarballs of npm packages that are kept',
    bytes(PACKAGE_LIMITS.cacheBytes),
    'Those not used for longest are removed',
  ),
  ofVariable(
    'Running calls when a router stops',
    { environment: routerEnvironment, name: 'WHERRY_DRAIN_SECONDS', format: seconds },
    'Their connections are closed',
  ),
];
