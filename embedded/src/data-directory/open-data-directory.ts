import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { lockDirectory } from './directory-lock.ts';
import { createRunDirectory, removeStaleRunDirectory } from './run-directory.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { reasonOf } from './error-facts.ts';

/** The paths of everything that the service stores, all absolute. */
export interface DataDirectory {
  paths: {
    root: string;
    /** Resources; SQLite. */
    database: string;
    /** Logs; SQLite. */
    telemetry: string;
    /** Metrics of executions; SQLite. */
    metrics: string;
    /** Audit records; SQLite. */
    audit: string;
    /** Users and sessions; SQLite. */
    users: string;
    /** Folder of the content store. */
    content: string;
    /** The key file. */
    keys: string;
    /** Folder for Unix sockets, 0711, new with each start and with a short path. */
    run: string;
  };
  /** There is no database yet: this is the first start, and the key file may be created. */
  isNew: boolean;
  /**
   * Removes the run folder and releases the directory for the next service; where this process made it and nothing was
   * stored in it, because the start failed, it is removed too. May be called again.
   */
  release(): void;
}

interface OpenOptions {
  path: string;
  /** What could not be removed is logged. */
  logger: Pick<Logger, 'warn'>;
}

/**
 * Creates the data directory (0700) where it is missing and locks it for this process.
 * @throws StartError in one line: it is not a folder, cannot be written to, or another service uses it
 */
export async function openDataDirectory({ path: folder, logger }: OpenOptions): Promise<DataDirectory> {
  const root = path.resolve(folder);
  const made = makePrivateFolder(root);
  const lock = lockDirectory(root, made);
  try {
    await removeStaleRunDirectory(lock.stale, logger);
    const run = createRunDirectory();
    lock.announce({ run });
    const inside = (name: string) => path.join(root, name);
    const database = inside('wherry.db');
    return {
      paths: {
        root,
        database,
        telemetry: inside('telemetry.db'),
        metrics: inside('metrics.db'),
        audit: inside('audit.db'),
        users: inside('users.db'),
        content: inside('content'),
        keys: inside('keys.json'),
        run,
      },
      isNew: !existsSync(database),
      release: () => {
        try {
          rmSync(run, { recursive: true, force: true });
        } catch (error) {
          logger.warn({ folder: run, err: error }, 'the run directory cannot be removed: remove it by hand');
        }
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    if (error instanceof StartError) throw error;
    throw new StartError(`The data directory ${root} cannot be used (${reasonOf(error)})`, error);
  }
}

/** @returns the folders that were missing, the innermost first. */
function makePrivateFolder(root: string): string[] {
  try {
    const made = makeFolders(root);
    if (!statSync(root).isDirectory()) throw new StartError(`The data directory ${root} is not a folder: ${CHOOSE}`);
    if ((statSync(root).mode & 0o077) !== 0) closeToOthers(root);
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
    return made;
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(
      `The data directory ${root} cannot be created or written to (${reasonOf(error)}): ${CHOOSE}`,
      error,
    );
  }
}

/** Not `recursive: true`: Node 24 then loops for ever where a file system answers ENOENT below a folder that exists. */
function makeFolders(folder: string): string[] {
  if (existsSync(folder)) return [];
  const made = makeFolders(path.dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
  return [folder, ...made];
}

const CHOOSE = 'choose another with WHERRY_DATA_DIR';

/** Only for a folder that is clearly meant for Wherry: not for /tmp, or somebody's home. */
function closeToOthers(root: string): void {
  const names = readdirSync(root);
  if (names.length > 0 && !names.includes('wherry.lock.guard')) {
    throw new StartError(
      `The data directory ${root} is accessible to other users and contains other files: ${CHOOSE}, or make it private with chmod 700`,
    );
  }
  chmodSync(root, 0o700);
}
