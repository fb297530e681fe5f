import { readFileSync } from 'node:fs';

/** A process, distinguished from a later one that got its pid. */
export interface ProcessIdentity {
  pid: number;
  /** When it began, in the kernel's ticks since boot; absent where there is no /proc. */
  startTime?: string | undefined;
}

/** This very process. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, startTime: statOf(process.pid)?.startTime };
}

/** Whether the process still runs. Without /proc, only the pid is compared. */
export function isRunning({ pid, startTime }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs under another user.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  const stat = statOf(pid);
  if (stat === undefined) return true;
  if (stat.state === 'Z' || stat.state === 'X') return false;
  return startTime === undefined || stat.startTime === startTime;
}

/** From proc(5): the second field is the command in brackets, which may hold blanks and brackets itself. */
function statOf(pid: number): { state: string | undefined; startTime: string | undefined } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0], startTime: fields[19] };
  } catch {
    return undefined;
  }
}
