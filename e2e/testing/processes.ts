import { readdirSync, readFileSync } from 'node:fs';

/** A process, distinguished from a later one that got its pid. */
export interface Process {
  pid: number;
  parent: number;
  /** In the kernel's ticks since boot. */
  startTime: string;
  /** The command line, for failure messages. */
  command: string;
}

/** The children of a process, their children and so on, as they are now. */
export function descendants(pid: number): Process[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (running(Number(name)) ?? []) : []));
  const found: Process[] = [];
  for (let parents = new Set([pid]); parents.size > 0;) {
    const children = all.filter(({ parent }) => parents.has(parent));
    found.push(...children);
    parents = new Set(children.map((child) => child.pid));
  }
  return found;
}

/** Those of the processes that still run. A zombie does not: it only waits for its parent to reap it. */
export function stillRunning(processes: Process[]): Process[] {
  return processes.filter(({ pid, startTime }) => running(pid)?.startTime === startTime);
}

function running(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return { pid, parent: Number(parent), startTime: String(rest[17]), command };
  } catch {
    // It ended while it was being read.
    return undefined;
  }
}
