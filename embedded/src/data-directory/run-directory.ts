import { chmodSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sweepInstances } from '../workloads/sweep-instances.ts';
import type { LockRecord } from './directory-lock.ts';
import { isRunning } from './process-identity.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { reasonOf } from './error-facts.ts';

/** The path of a Unix socket has at most 107 bytes; this much of it may be the folder. */
const LONGEST = 50;
const NAME = /^wherry-[A-Za-z0-9]{6}$/;

/**
 * A new folder for the service's sockets, with a short path; 0711, so that a child under another user can reach the
 * one folder in it that is its own.
 */
export function createRunDirectory(temporary: string = tmpdir()): string {
  const parent = Buffer.byteLength(path.join(temporary, 'wherry-XXXXXX')) <= LONGEST ? temporary : '/tmp';
  try {
    const run = mkdtempSync(path.join(parent, 'wherry-'));
    chmodSync(run, 0o711);
    return run;
  } catch (error) {
    throw new StartError(
      `No folder for sockets can be made in ${parent} (${reasonOf(error)}): set TMPDIR to a writable folder with a short path`,
      error,
    );
  }
}

/**
 * Removes what a killed service left, and nothing else: a folder of our own making and our own user, whose service
 * does not run. (A data directory that was copied from a running service names that one's sockets.)
 */
export async function removeStaleRunDirectory(stale: LockRecord | undefined): Promise<void> {
  if (stale?.run === undefined || isRunning(stale) || !isOurOwn(stale.run)) return;
  // Instances end with their service by themselves, but one that is stuck in a loop cannot see its end.
  await sweepInstances(stale.run);
  rmSync(stale.run, { recursive: true, force: true });
}

function isOurOwn(run: string): boolean {
  if (!path.isAbsolute(run) || !NAME.test(path.basename(run))) return false;
  const found = lstatSync(run, { throwIfNoEntry: false });
  return found !== undefined && found.isDirectory() && found.uid === process.getuid?.();
}
