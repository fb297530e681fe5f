import { readdir, readFile } from 'node:fs/promises';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

const PAGE_BYTES = 4096;
/** How often to check whether a killed group has ended: most have at the first check. */
const END_POLL_MS = 2;

/** Ends a process and all that it started. Nothing happens when they are gone already. */
export function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Resolves when no process of a group that was killed runs any more. A process closes its pipes before it has ended,
 * and one whose parent was killed ends under another, so neither event proves it.
 */
export async function untilGroupEnded(leader: number): Promise<void> {
  while (hasGroup(leader) && (await membersOf([leader])).length > 0) await delay(END_POLL_MS);
}

/** Bytes of memory that the processes of groups hold together, from /proc. */
export async function groupMemory(leaders: readonly number[]): Promise<number> {
  return (await membersOf(leaders)).reduce((sum, { pages }) => sum + pages * PAGE_BYTES, 0);
}

/** It avoids reading every process of the machine. Ended processes count until they are reaped. */
function hasGroup(leader: number): boolean {
  try {
    return process.kill(-leader, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

interface Member {
  /** Of memory, resident. */
  pages: number;
}

/** The processes of groups that run, from /proc; none without it. */
async function membersOf(leaders: readonly number[]): Promise<Member[]> {
  const processes = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  return (await Promise.all(processes.map((id) => memberOf(id, leaders)))).filter((member) => member !== undefined);
}

async function memberOf(id: string, leaders: readonly number[]): Promise<Member | undefined> {
  // A process that ended since the folder was read.
  const stat = await readFile(`/proc/${id}/stat`, 'latin1').catch(() => '');
  // The name, in parentheses, may hold anything; then: state, parent, group, … the threads as the 18th and the resident
  // pages as the 22nd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // The first thread may have ended before the others.
  const hasEnded = /[ZX]/.test(fields[0] ?? '') && Number(fields[17]) <= 1;
  return leaders.includes(Number(fields[2])) && !hasEnded ? { pages: Number(fields[21]) } : undefined;
}
