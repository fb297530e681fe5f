import { chmodSync, lstatSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeTree } from '../workloads/remove-tree.ts';
import { sweepInstances } from '../workloads/sweep-instances.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { LockRecord } from './directory-lock.ts';
import { isRunning } from './process-identity.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { reasonOf } from './error-facts.ts';

/** The path of a Unix socket has at most 107 bytes; this much of it may be the folder. */
const LONGEST = 50;
const NAME = /^wherry-[A-Za-z0-9]{6}$/;

/**
 * A new folder for the service's sockets, with a short path; 0711, so that a child that runs as another user can reach
 * its own folder in it.
 */
export function createRunDirectory(temporary: string = tmpdir()): string {
  const parent = Buffer.byteLength(path.join(temporary, 'wherry-XXXXXX')) <= LONGEST ? temporary : '/tmp';
  try {
    const run = mkdtempSync(path.join(parent, 'wherry-'));
    chmodSync(run, 0o711);
    return run;
  } catch (error) {
    throw new StartError(
      `A folder for sockets cannot be created in ${parent} (${reasonOf(error)}): set TMPDIR to a writable folder with a short path`,
      error,
    );
  }
}

/**
 * Removes what a killed service left, and nothing else: a folder that we created, of our own user, whose service no
 * longer runs. (A data directory that was copied from a running service names the sockets of that service.) Where that fails, it is logged and the service starts: what a function left in
 * its folder keeps nobody from starting.
 */
export async function removeStaleRunDirectory(
  stale: LockRecord | undefined,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  if (stale?.run === undefined || isRunning(stale) || !isOurOwn(stale.run)) return;
  try {
    // Instances end with their service by themselves, but one that is stuck in a loop cannot see its end.
    await sweepInstances(stale.run);
    await removeTree(stale.run);
  } catch (error) {
    logger.warn(
      { folder: stale.run, err: error },
      'the folder of a service that was killed cannot be removed: remove it by hand',
    );
  }
}

function isOurOwn(run: string): boolean {
  if (!path.isAbsolute(run) || !NAME.test(path.basename(run))) return false;
  const found = lstatSync(run, { throwIfNoEntry: false });
  return found !== undefined && found.isDirectory() && found.uid === process.getuid?.();
}
