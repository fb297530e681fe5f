import { readdir, readFile } from 'node:fs/promises';
import process from 'node:process';

const PAGE_BYTES = 4096;

/** Ends a process and all that it started. Nothing happens when they are gone already. */
export function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Bytes of memory that the processes of a group hold together, from /proc. */
export async function groupMemory(leader: number): Promise<number> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const sizes = await Promise.all(processes.map((id) => memoryIn(id, leader)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function memoryIn(id: string, leader: number): Promise<number> {
  // One that ended since the folder was read.
  const stat = await readFile(`/proc/${id}/stat`, 'latin1').catch(() => '');
  // The name, in parentheses, may hold anything; then: state, parent, group, … and the resident pages as the 22nd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[2]) === leader ? Number(fields[21]) * PAGE_BYTES : 0;
}
