import { createRequire } from 'node:module';
import path from 'node:path';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { reachable } from './reachable.ts';
import { buildUid, findUidRange } from './uid-pool.ts';

/**
 * The user that builds run as (B1), where this process may become another; undefined where it may not, and where that
 * user could not read what builds are made with (an installation in root's home).
 */
export function buildIdentity(logger: Logger): { uid: number; gid: number } | undefined {
  const range = findUidRange();
  if (range === undefined) return undefined;
  const needed = [process.execPath, createRequire(import.meta.url).resolve('esbuild')].map((file) => path.dirname(file));
  const closed = needed.find((folder) => !reachable(folder));
  if (closed === undefined) return { uid: buildUid(range), gid: buildUid(range) };
  logger.warn({ folder: closed }, 'builds run as the user of this service: no other user can enter the folder of its programs');
  return undefined;
}
