import { chmodSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { isRunning, ownIdentity, type ProcessIdentity } from './process-identity.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { reasonOf } from './error-facts.ts';
import { writeDurably } from './write-durably.ts';

const lockSchema = z.object({ pid: z.int().min(1), startTime: z.string().optional(), run: z.string().optional() });

/** What `wherry.lock` says, as JSON: which process holds the folder, and where its sockets are. */
export type LockRecord = ProcessIdentity & { run?: string | undefined };

export interface DirectoryLock {
  /** What a holder that was killed has left behind. */
  stale: LockRecord | undefined;
  /** Writes `wherry.lock`. */
  announce(record: { run: string }): void;
  /** Takes `wherry.lock` away, if it is still this holder's, and lets the folder go. */
  release(): void;
}

/** A database that nobody refers to is closed by the garbage collector, which would let the lock go. */
const held = new Set<DatabaseSync>();

/**
 * Takes the data directory for this process alone. What decides is a lock of the kernel, which SQLite holds on
 * `wherry.lock.guard`: it ends with the process however that dies, so that there is no stale lock that two starters
 * could take over at once, and a pid that means nothing in another container cannot mislead. `wherry.lock` only says
 * to people and programs who the holder is.
 * @throws StartError where another process has it, naming its pid and the folder
 */
export function lockDirectory(folder: string): DirectoryLock {
  const file = path.join(folder, 'wherry.lock');
  const guard = takeGuard(folder, `${file}.guard`);
  if (guard === undefined) throw new StartError(`${nameHolder(readLock(file))} uses the data directory ${folder}: ${WHAT_TO_DO}`);
  held.add(guard);
  const self = ownIdentity();
  return {
    stale: readLock(file),
    announce: ({ run }) => writeDurably(file, `${JSON.stringify({ ...self, run })}\n`),
    release: () => {
      if (!held.delete(guard)) return;
      const now = readLock(file);
      if (now?.pid === self.pid && now.startTime === self.startTime) rmSync(file, { force: true });
      guard.close();
    },
  };
}

const WHAT_TO_DO = 'stop it first, or choose another folder with WHERRY_DATA_DIR';

/** What a lock file says; undefined where there is none, or none that can be read. */
export function readLock(file: string): LockRecord | undefined {
  try {
    return lockSchema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

/** Only a process that really runs is named: the holder may not have written its own name yet. */
function nameHolder(record: LockRecord | undefined): string {
  return record !== undefined && isRunning(record) ? `Another Wherry service (pid ${record.pid})` : 'Another Wherry service';
}

function takeGuard(folder: string, file: string): DatabaseSync | undefined {
  let guard: DatabaseSync | undefined;
  try {
    guard = new DatabaseSync(file, { timeout: 0 });
    guard.exec('BEGIN EXCLUSIVE');
    chmodSync(file, 0o600);
    return guard;
  } catch (error) {
    guard?.close();
    if (isBusy(error)) return undefined;
    throw new StartError(`The data directory ${folder} cannot be locked (${reasonOf(error)}): it must be on a file system that is writable and has locks`, error);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === 5;
}
