import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { processBirth } from './process-table.ts';
import { removeTree } from './remove-tree.ts';

/** Where a run directory records running instances: a file for each. The instances themselves cannot access it. */
export const RECORDS = 'pids';
/** Where a run directory keeps the instances' own folders. */
export const INSTANCES = 'i';

const GONE_WITHIN_MS = 2000;

const recordSchema = z.object({ pid: z.int().min(2), birth: z.string() });

/**
 * Ends what a dead service has left in its run directory: instances that still run, and their folders. A pid that now
 * belongs to another process is left alone. A missing directory is ignored.
 * @returns how many instances still ran.
 * @throws where a folder cannot be removed; no instance runs then either.
 */
export async function sweepInstances(directory: string): Promise<number> {
  const records = path.join(directory, RECORDS);
  const names = await readdir(records).catch(() => []);
  const killed = await Promise.all(names.map((name) => sweepOne(path.join(records, name))));
  await removeTree(path.join(directory, INSTANCES));
  await removeTree(records);
  return killed.filter(Boolean).length;
}

async function sweepOne(file: string): Promise<boolean> {
  const record = await readRecord(file);
  if (record === undefined || processBirth(record.pid) !== record.birth) return false;
  try {
    process.kill(record.pid, 'SIGKILL');
  } catch {
    return false;
  }
  for (let waited = 0; waited < GONE_WITHIN_MS && processBirth(record.pid) === record.birth; waited += 10)
    await delay(10);
  return true;
}

async function readRecord(file: string): Promise<z.infer<typeof recordSchema> | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    // Half written when the service was killed.
    return undefined;
  }
}
