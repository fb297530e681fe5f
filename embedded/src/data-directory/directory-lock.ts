import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { isRunning, ownIdentity, type ProcessIdentity } from './process-identity.ts';
import { guardDirectory } from '@wherry/service/directory-guard.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { reasonOf } from './error-facts.ts';
import { writeDurably } from './write-durably.ts';

const lockSchema = z.object({ pid: z.int().min(1), startTime: z.string().optional(), run: z.string().optional() });

/** What `wherry.lock` says, as JSON: which process holds the folder, and where its sockets are. */
export type LockRecord = ProcessIdentity & { run?: string | undefined };

interface DirectoryLock {
  /** What a holder that was killed has left behind. */
  stale: LockRecord | undefined;
  /** Writes `wherry.lock`. */
  announce(record: { run: string }): void;
  /** Takes `wherry.lock` away, if it is still this holder's, and lets the folder go. */
  release(): void;
}

/**
 * Takes the data directory for this process alone. What decides is the kernel's lock on `wherry.lock.guard`;
 * `wherry.lock` only says to people and programs who the holder is.
 * @throws StartError where another process has it, naming its pid and the folder
 */
export function lockDirectory(folder: string): DirectoryLock {
  const file = path.join(folder, 'wherry.lock');
  const guard = takeGuard(folder, `${file}.guard`);
  if (guard === undefined)
    throw new StartError(`${nameHolder(readLock(file))} uses the data directory ${folder}: ${WHAT_TO_DO}`);
  const self = ownIdentity();
  let released = false;
  return {
    stale: readLock(file),
    announce: ({ run }) => writeDurably(file, `${JSON.stringify({ ...self, run })}\n`),
    release: () => {
      if (released) return;
      released = true;
      const now = readLock(file);
      if (now?.pid === self.pid && now.startTime === self.startTime) rmSync(file, { force: true });
      guard.release();
    },
  };
}

const WHAT_TO_DO = 'stop it first, or choose another folder with WHERRY_DATA_DIR';

/** What a lock file says; undefined where there is none, or none that can be read. */
function readLock(file: string): LockRecord | undefined {
  try {
    return lockSchema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

/** Only a process that really runs is named: the holder may not have written its own name yet. */
function nameHolder(record: LockRecord | undefined): string {
  return record !== undefined && isRunning(record)
    ? `Another Wherry service (pid ${record.pid})`
    : 'Another Wherry service';
}

function takeGuard(folder: string, file: string): { release(): void } | undefined {
  try {
    return guardDirectory(file);
  } catch (error) {
    throw new StartError(
      `The data directory ${folder} cannot be locked (${reasonOf(error)}): it must be on a file system that is writable and has locks`,
      error,
    );
  }
}
