import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { processBirth } from './process-table.ts';

/** Where a run directory keeps who is running: a file for each instance. The instances themselves cannot get there. */
export const RECORDS = 'pids';
/** Where a run directory keeps the instances' own folders. */
export const INSTANCES = 'i';

const GONE_WITHIN_MS = 2000;

const recordSchema = z.object({ pid: z.int().min(2), birth: z.string() });

/**
 * Ends what a service that died has left behind in its run directory: instances that still run, and their folders.
 * A pid that has become another process's is left alone. A directory that is not there is fine.
 * @returns how many instances still ran.
 */
export async function sweepInstances(directory: string): Promise<number> {
  const records = path.join(directory, RECORDS);
  const names = await readdir(records).catch(() => []);
  const killed = await Promise.all(names.map((name) => sweepOne(path.join(records, name))));
  await rm(path.join(directory, INSTANCES), { recursive: true, force: true });
  await rm(records, { recursive: true, force: true });
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
