import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { lockDirectory } from './directory-lock.ts';
import { createRunDirectory, removeStaleRunDirectory } from './run-directory.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { reasonOf } from './error-facts.ts';

/** Everything that the service keeps, all paths absolute. */
export interface DataDirectory {
  paths: {
    root: string;
    /** Resources and users; SQLite. */
    database: string;
    /** Logs and metrics; SQLite. */
    telemetry: string;
    /** Audit records; SQLite. */
    audit: string;
    /** Folder of the content store. */
    content: string;
    /** The key file. */
    keys: string;
    /** Folder for Unix sockets, 0711, new with each start and with a short path. */
    run: string;
  };
  /** There is no database yet: this is the first start, and the key file may be created. */
  isNew: boolean;
  /** Removes the run folder and lets the next service have the directory. Harmless a second time. */
  release(): void;
}

/**
 * Creates the data directory (0700) where it is missing and takes it for this process alone.
 * @throws StartError in one line: it is no folder, cannot be written to, or another service uses it
 */
export async function openDataDirectory(options: { path: string }): Promise<DataDirectory> {
  const root = path.resolve(options.path);
  makePrivateFolder(root);
  const lock = lockDirectory(root);
  try {
    await removeStaleRunDirectory(lock.stale);
    const run = createRunDirectory();
    lock.announce({ run });
    const inside = (name: string) => path.join(root, name);
    const database = inside('wherry.db');
    return {
      paths: {
        root,
        database,
        telemetry: inside('telemetry.db'),
        audit: inside('audit.db'),
        content: inside('content'),
        keys: inside('keys.json'),
        run,
      },
      isNew: !existsSync(database),
      release: () => {
        rmSync(run, { recursive: true, force: true });
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    if (error instanceof StartError) throw error;
    throw new StartError(`The data directory ${root} cannot be used (${reasonOf(error)})`, error);
  }
}

function makePrivateFolder(root: string): void {
  try {
    makeFolders(root);
    if (!statSync(root).isDirectory()) throw new StartError(`The data directory ${root} is not a folder: ${CHOOSE}`);
    if ((statSync(root).mode & 0o077) !== 0) closeToOthers(root);
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(
      `The data directory ${root} cannot be created or written to (${reasonOf(error)}): ${CHOOSE}`,
      error,
    );
  }
}

/** Not `recursive: true`: Node 24 then loops for ever where a file system answers ENOENT below a folder that exists. */
function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  makeFolders(path.dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

const CHOOSE = 'choose another with WHERRY_DATA_DIR';

/** Only a folder that is plainly meant for Wherry: it must not happen to /tmp, or to somebody's home. */
function closeToOthers(root: string): void {
  const names = readdirSync(root);
  if (names.length > 0 && !names.includes('wherry.lock.guard')) {
    throw new StartError(
      `The data directory ${root} is open to other users and holds other files: ${CHOOSE}, or make it private with chmod 700`,
    );
  }
  chmodSync(root, 0o700);
}
