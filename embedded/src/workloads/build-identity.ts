import { createRequire } from 'node:module';
import path from 'node:path';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { reachable } from './reachable.ts';
import { buildUid, findUidRange, installUid } from './uid-pool.ts';

interface Identity {
  uid: number;
  gid: number;
}

/**
 * The user that builds run as, and the one that has the registry's token (B1), where this process may switch users;
 * neither where it may not, or where they could not read the programs of builds (an installation in root's home).
 */
export function buildIdentities(logger: Logger): { build?: Identity; install?: Identity } {
  const range = findUidRange();
  if (range === undefined) return {};
  const needed = [process.execPath, createRequire(import.meta.url).resolve('esbuild')].map((file) =>
    path.dirname(file),
  );
  const closed = needed.find((folder) => !reachable(folder));
  if (closed === undefined) return { build: identityOf(buildUid(range)), install: identityOf(installUid(range)) };
  logger.warn(
    { folder: closed },
    'builds run as the user of this service, because no other user can enter the folder of its programs',
  );
  return {};
}

const identityOf = (id: number): Identity => ({ uid: id, gid: id });
