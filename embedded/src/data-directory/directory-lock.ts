import { readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { isRunning, ownIdentity, type ProcessIdentity } from './process-identity.ts';
import { guardDirectory } from '@wherry/service/directory-guard.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { reasonOf } from './error-facts.ts';
import { writeDurably } from './write-durably.ts';

const lockSchema = z.object({ pid: z.int().min(1), startTime: z.string().optional(), run: z.string().optional() });

/** The content of `wherry.lock`, as JSON: which process holds the folder, and where its sockets are. */
export type LockRecord = ProcessIdentity & { run?: string | undefined };

interface DirectoryLock {
  /** What a holder that was killed has left behind. */
  stale: LockRecord | undefined;
  /** Writes `wherry.lock`. */
  announce(record: { run: string }): void;
  /** Removes `wherry.lock`, if it is still this holder's, and the folder, if it is unused; then releases it. */
  release(): void;
}

/**
 * Locks the data directory for this process. What decides is the kernel's lock on `wherry.lock.guard`; `wherry.lock`
 * only shows people and programs who the holder is.
 * @param made folders that exist since this start, the innermost first: the folder itself and those above it
 * @throws StartError where another process has it, naming its pid and the folder
 */
export function lockDirectory(folder: string, made: readonly string[]): DirectoryLock {
  const file = path.join(folder, 'wherry.lock');
  const guardFile = `${file}.guard`;
  const guard = takeGuard(folder, guardFile);
  if (guard === undefined)
    throw new StartError(`${nameHolder(readLock(file))} is using the data directory ${folder}: ${WHAT_TO_DO}`);
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
      // While it is held: nobody else can have begun to use the folder.
      if (made.length > 0) removeUnused(folder, guardFile, made);
      guard.release();
    },
  };
}

/**
 * Removes folders that hold nothing but the guard's file and its journal: a start that was refused leaves none where
 * there was none.
 */
function removeUnused(folder: string, guardFile: string, made: readonly string[]): void {
  try {
    const files = readdirSync(folder).map((name) => path.join(folder, name));
    if (!files.every((file) => file.startsWith(guardFile))) return;
    for (const file of files) rmSync(file);
    for (const one of made) rmdirSync(one);
  } catch {
    // Something else was put into one of them since, or removed it.
  }
}

const WHAT_TO_DO = 'stop it first, or choose another folder with WHERRY_DATA_DIR';

/** The content of a lock file; undefined where there is none, or it cannot be read. */
function readLock(file: string): LockRecord | undefined {
  try {
    return lockSchema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

/** Only a running process is named: the holder may not have written its own name yet. */
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
      `The data directory ${folder} cannot be locked (${reasonOf(error)}): it must be on a writable file system that supports locks`,
      error,
    );
  }
}
