import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { resourcesSchema } from '@wherry/core/resources/function.ts';
import { openRunDirectory } from './run-directory.ts';
import { createLauncher } from './runtime-process.ts';
import { createSpares, type Spares } from './spares.ts';
import { createUidPool, findUidRange } from './uid-pool.ts';

export interface OpenSparesOptions {
  /** Path of the runtime as one file. */
  runtimeBundle: string;
  /** The run directory of this service: sockets, the instances' own folders, records of their processes. */
  directory: string;
  clock: Clock;
  logger: Logger;
  /** How many, of the default size. 1 when omitted. */
  count?: number;
}

/**
 * Opens the run directory and starts the spares there: each as a user of its own where this process is root.
 * @throws StartError where the run directory cannot be used.
 */
export function openSpares(options: OpenSparesOptions): Spares {
  const { clock, logger, directory, runtimeBundle: bundle, count = 1 } = options;
  const range = findUidRange();
  const run = openRunDirectory(directory, { node: process.execPath, bundle, otherUsers: range !== undefined });
  const launcher = createLauncher({ run, uids: range === undefined ? undefined : createUidPool(range), clock });
  const { memoryMiB } = resourcesSchema.parse({});
  return createSpares({ count, memoryMiB }, { launcher, clock, logger });
}
