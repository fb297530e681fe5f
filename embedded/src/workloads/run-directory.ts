import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { StartError } from '@wherry/service/start-error.ts';
import { processBirth } from './process-table.ts';
import { reachable } from './reachable.ts';
import { removeTree } from './remove-tree.ts';
import { INSTANCES, RECORDS } from './sweep-instances.ts';

/** One instance's own folder: only its user (and root) can enter it. */
export interface InstanceFolder {
  /** Never used again. */
  id: string;
  path: string;
  /** Where it listens. */
  socket: string;
  /** Its `os.tmpdir()`. */
  temporary: string;
}

export interface RunDirectory {
  /** Node's binary and the runtime's bundle at paths that every user can reach. */
  node: string;
  bundle: string;
  /** @param uid its owner; undefined for our own user. */
  createFolder(uid: number | undefined): InstanceFolder;
  removeFolder(folder: InstanceFolder): Promise<void>;
  /** Notes that this process belongs to the folder, for `sweepInstances`. */
  record(folder: InstanceFolder, pid: number): void;
}

/** Longest path of a Unix socket, without the closing NUL. */
const SOCKET_PATH_BYTES = 107;
const SOCKET = 's';
const ID_BYTES = 6;

/**
 * Creates the layout of a run directory: folders for instances, records of their processes.
 * @param options.otherUsers whether instances run as other users than this process: then everything that they need to
 *   reach is checked, and a file that they cannot reach (in root's home) is copied into the run directory.
 * @throws StartError where that is impossible.
 */
export function openRunDirectory(
  directory: string,
  options: { node: string; bundle: string; otherUsers: boolean },
): RunDirectory {
  const instances = path.join(directory, INSTANCES);
  const records = path.join(directory, RECORDS);
  checkLength(instances);
  fs.mkdirSync(instances, { recursive: true, mode: 0o711 });
  fs.mkdirSync(records, { recursive: true, mode: 0o700 });
  if (options.otherUsers) open(directory, instances);
  const file = (source: string, name: string): string =>
    options.otherUsers ? reachableFile(source, path.join(directory, name)) : source;
  return {
    node: file(options.node, 'node'),
    bundle: file(options.bundle, `runtime${path.extname(options.bundle)}`),
    createFolder: (uid) => createFolder(instances, uid),
    async removeFolder(folder) {
      await removeTree(folder.path);
      await rm(path.join(records, folder.id), { force: true });
    },
    record(folder, pid) {
      const birth = processBirth(pid);
      if (birth === undefined) return;
      fs.writeFileSync(path.join(records, folder.id), JSON.stringify({ pid, birth }), { mode: 0o600 });
    },
  };
}

function checkLength(instances: string): void {
  const longest = path.join(instances, 'x'.repeat(ID_BYTES * 2), SOCKET);
  if (Buffer.byteLength(longest) <= SOCKET_PATH_BYTES) return;
  throw new StartError(
    `The run directory ${path.dirname(instances)} is too long for Unix sockets: set TMPDIR to a shorter path.`,
  );
}

function open(directory: string, instances: string): void {
  fs.chmodSync(directory, 0o711);
  fs.chmodSync(instances, 0o711);
  if (reachable(instances)) return;
  throw new StartError(
    `Functions run as separate users and cannot enter the run directory ${directory}: set TMPDIR to a folder that all users can enter.`,
  );
}

/** The file itself where every user can read it, else a copy: a hard link would keep a mode that shuts them out. */
function reachableFile(source: string, copy: string): string {
  const real = fs.realpathSync(source);
  const { mode } = fs.statSync(real);
  if ((mode & 0o004) !== 0 && reachable(path.dirname(real))) return real;
  fs.rmSync(copy, { force: true });
  fs.copyFileSync(real, copy, fs.constants.COPYFILE_FICLONE);
  fs.chmodSync(copy, 0o555);
  return copy;
}

function createFolder(instances: string, uid: number | undefined): InstanceFolder {
  const id = randomBytes(ID_BYTES).toString('hex');
  const folder = path.join(instances, id);
  const temporary = path.join(folder, 'tmp');
  fs.mkdirSync(folder, { mode: 0o700 });
  fs.mkdirSync(temporary, { mode: 0o700 });
  if (uid !== undefined) {
    fs.chownSync(temporary, uid, uid);
    fs.chownSync(folder, uid, uid);
  }
  return { id, path: folder, socket: path.join(folder, SOCKET), temporary };
}
