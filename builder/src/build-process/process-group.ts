import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

const PAGE_BYTES = 4096;
/** When to check whether a killed group has ended: most have at the first check, and on a busy machine it may take long. */
const FIRST_END_POLL_MS = 2;
const LAST_END_POLL_MS = 64;
/** More than a line of /proc/<pid>/stat has. */
const STAT_BYTES = 1024;

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
  let wait = FIRST_END_POLL_MS;
  while (hasGroup(leader) && membersOf([leader]).length > 0) {
    await delay(wait);
    wait = Math.min(wait * 2, LAST_END_POLL_MS);
  }
}

/** Bytes of memory that the processes of groups hold together, from /proc; 0 without it. */
export function groupMemory(leaders: readonly number[]): number {
  return membersOf(leaders).reduce((sum, { pages }) => sum + pages * PAGE_BYTES, 0);
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
function membersOf(leaders: readonly number[]): Member[] {
  return processIds()
    .map((id) => memberOf(id, leaders))
    .filter((member) => member !== undefined);
}

function processIds(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function memberOf(id: string, leaders: readonly number[]): Member | undefined {
  const stat = statOf(id);
  // The name, in parentheses, may hold anything; then: state, parent, group, … the threads as the 18th and the resident
  // pages as the 22nd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // The first thread may have ended before the others.
  const hasEnded = /[ZX]/.test(fields[0] ?? '') && Number(fields[17]) <= 1;
  return leaders.includes(Number(fields[2])) && !hasEnded ? { pages: Number(fields[21]) } : undefined;
}

const buffer = Buffer.alloc(STAT_BYTES);

/** Nothing of a process that has ended since the folder was read. In one turn: some microseconds each, from memory. */
function statOf(id: string): string {
  try {
    const file = openSync(`/proc/${id}/stat`, 'r');
    try {
      return buffer.toString('latin1', 0, readSync(file, buffer));
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}
