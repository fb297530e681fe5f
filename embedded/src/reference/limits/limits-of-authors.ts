import { BUILD_LIMITS } from '@wherry/builder/build-process/create-process-builder.ts';
import { PACKAGE_LIMITS } from '@wherry/builder/packages/create-package-registry.ts';
import { UNPACK_LIMITS } from '@wherry/builder/packages/unpack-tarball.ts';
import { DEFAULT_MAX_CONCURRENCY, functionSpecSchema, functionStatusSchema } from '@wherry/core/resources/function.ts';
import { secretNameSchema } from '@wherry/core/resources/function-secret.ts';
import { MAX_PATH_BYTES } from '@wherry/core/trees/file-path.ts';
import { MANAGER_LIMITS } from '@wherry/manager/limits.ts';
import { LOG_RATE } from '@wherry/operator/feed/log-rate.ts';
import { ROUTER_LIMITS } from '@wherry/router/limits.ts';
import { runtimeEnvironment } from '@wherry/runtime/config.ts';
import { MAX_DEPTH, MAX_ITEMS, MAX_TEXT_LENGTH } from '@wherry/runtime/logs/format-arguments.ts';
import { z } from 'zod';
import { INSTANCE_LIMITS } from '../../workloads/instance-limits.ts';
import {
  answered,
  bytes,
  characters,
  fixed,
  mebibytes,
  milliseconds,
  mostOf,
  notReady,
  number,
  ofField,
  ofSetting,
  ofVariable,
  refused,
  seconds,
  type Format,
  type LimitRow,
} from './limit-row.ts';

const field = (name: string, format: Format, fallback?: string): Parameters<typeof ofField>[1] => ({
  schema: functionSpecSchema,
  field: name,
  of: 'the function',
  format,
  ...(fallback === undefined ? {} : { fallback }),
});
const NOT_YET = 'Nothing happens yet: a function runs `scaling.minReplicas` instances, however many calls it has';
const REJECTED = `${answered('validation_failed')}, which names the field`;

const calls: LimitRow[] = [
  ofField('Body of a request', field('maxRequestBytes', bytes), refused('too_large')),
  fixed('Body of a response', 'none: it is streamed', 'It must end within the time of the call'),
  fixed('Headers of a response', bytes(ROUTER_LIMITS.responseHeaderBytes), refused('bad_response')),
  ofField(
    'Time of a call',
    field('timeoutSeconds', seconds),
    `${refused('timeout')}; a response that has begun is cut off`,
  ),
  ofField(
    'Calls of a function at once, over all of its instances',
    field('maxConcurrency', number, number(DEFAULT_MAX_CONCURRENCY)),
    `${refused('over_capacity')} with \`Retry-After\``,
  ),
  fixed(
    'Wait of a call for an instance to become ready',
    milliseconds(ROUTER_LIMITS.instanceWaitMs),
    refused('no_instance'),
  ),
];

const instances: LimitRow[] = [
  ofField(
    'Memory of an instance',
    field('resources.memoryMiB', mebibytes),
    `The instance is replaced; its calls get ${refused('runtime_crashed')}`,
  ),
  ofField(
    'CPU of an instance, in thousandths of a core, in a cluster',
    field('resources.cpuMillis', number, 'none'),
    'The instance is slowed down',
  ),
  fixed(
    'Temporary folder of an instance, on one machine',
    `${mebibytes(INSTANCE_LIMITS.temporaryMiB)}, ${number(INSTANCE_LIMITS.temporaryEntries)} files`,
    'The instance is replaced',
  ),
  fixed(
    'Blocked event loop, on one machine',
    milliseconds(INSTANCE_LIMITS.blockedMs),
    `The instance is replaced; its calls get ${refused('runtime_crashed')} or ${refused('timeout')}`,
  ),
  ofVariable(
    'Loading of the code',
    { environment: z.object(runtimeEnvironment.shape), name: 'WHERRY_LOAD_TIMEOUT_SECONDS', format: seconds },
    notReady('LoadError'),
  ),
  ofField('Instances of a function', field('scaling.minReplicas', number), REJECTED),
  ofField('Upper bound of `scaling.minReplicas`', field('scaling.maxReplicas', number), REJECTED),
  ofField('Calls that one instance should handle at once', field('scaling.targetConcurrency', number), NOT_YET),
  ofField('Idle instance beyond the minimum', field('scaling.idleSeconds', seconds), NOT_YET),
  fixed('Key groups of a function', number(mostOf(functionSpecSchema, 'keyGroups')), REJECTED),
  ofField("Time for which browsers cache a preflight's response", field('cors.maxAge', seconds), REJECTED),
];

const code: LimitRow[] = [
  ofSetting('One file of a source', 'files.max-size-bytes', bytes, answered('too_large')),
  fixed('Files of a source', number(MANAGER_LIMITS.sourceFiles), answered('too_large')),
  fixed('Path of a file', bytes(MAX_PATH_BYTES), answered('validation_failed')),
  fixed('Path of a handler, with its source', characters(mostOf(functionSpecSchema, 'handler')), REJECTED),
  fixed('Route', characters(mostOf(functionSpecSchema, 'route')), REJECTED),
  fixed('Artifact: code and source map', bytes(BUILD_LIMITS.outputBytes), notReady('BuildTooLarge')),
  fixed('Time of a build', milliseconds(BUILD_LIMITS.timeoutMs), notReady('BuildTimeout')),
  fixed(
    'Time in which the packages of a build arrive',
    milliseconds(BUILD_LIMITS.packagesTimeoutMs),
    notReady('InstallTimeout'),
  ),
  fixed('Memory of a build', bytes(BUILD_LIMITS.memoryBytes), notReady('BuildOutOfMemory')),
  fixed('Builds at once', number(BUILD_LIMITS.concurrency), 'Further builds wait'),
  fixed(
    'Revisions that a function remembers',
    number(mostOf(functionStatusSchema, 'revisions')),
    'The oldest one is forgotten',
  ),
];

const packages: LimitRow[] = [
  fixed(
    'npm packages of a source, including transitive ones',
    number(PACKAGE_LIMITS.packages),
    notReady('PackageTooLarge'),
  ),
  fixed(
    'npm packages that a resolution considers, including those for other platforms',
    number(PACKAGE_LIMITS.candidates),
    notReady('PackageTooLarge'),
  ),
  fixed('Tarball of a package', bytes(PACKAGE_LIMITS.tarballBytes), notReady('PackageTooLarge')),
  fixed('Tarball of a package, unpacked', bytes(UNPACK_LIMITS.bytes), notReady('PackageTooLarge')),
  fixed('Files of a package', number(UNPACK_LIMITS.files), notReady('PackageTooLarge')),
  fixed(
    'Registry data of one package, all its versions',
    bytes(PACKAGE_LIMITS.metadataBytes),
    notReady('PackageTooLarge'),
  ),
  fixed(
    'Resolution of packages, and download of one tarball',
    milliseconds(PACKAGE_LIMITS.timeoutMs),
    notReady('InstallTimeout'),
  ),
];

const logsAndSecrets: LimitRow[] = [
  fixed(
    'Log of a function, per second on average',
    `${bytes(LOG_RATE.bytesPerSecond)} and ${number(LOG_RATE.bytesPerSecond / LOG_RATE.leastBytes)} entries`,
    'Entries are dropped; a warning in the log gives their number',
  ),
  fixed(
    'Log of a function in a burst',
    `${bytes(LOG_RATE.burstBytes)} and ${number(LOG_RATE.burstBytes / LOG_RATE.leastBytes)} entries`,
    'Entries are dropped; a warning in the log gives their number',
  ),
  fixed(
    'Message of a log entry, and its further arguments',
    `${characters(MAX_TEXT_LENGTH)} each`,
    'The rest is cut off, and the entry says so',
  ),
  fixed(
    'Objects in what is logged',
    `${number(MAX_DEPTH)} levels, ${number(MAX_ITEMS)} values`,
    'Deeper objects are printed as `[Object]` or `[Array]`; further values are left out',
  ),
  fixed('Name of a secret', characters(mostOf(z.object({ name: secretNameSchema }), 'name')), REJECTED),
  fixed('Value of a secret, as UTF-8', bytes(MANAGER_LIMITS.secretBytes), REJECTED),
];

/** For authors of functions. */
export const LIMITS_OF_AUTHORS: readonly LimitRow[] = [...calls, ...instances, ...code, ...packages, ...logsAndSecrets];
