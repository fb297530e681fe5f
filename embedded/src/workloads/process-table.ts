import { readFileSync } from 'node:fs';

const MIB = 1024 * 1024;

/**
 * Private memory of a process, in MiB: heap, Buffers and everything else that is not shared with similar processes (the
 * pages of Node's binary are). Undefined where it is gone, and on systems without /proc.
 */
export function privateMemoryMiB(pid: number): number | undefined {
  const status = read(`/proc/${pid}/status`);
  if (status === undefined) return undefined;
  let kib = 0;
  for (const match of status.matchAll(/^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$/gm)) kib += Number(match[1]);
  return (kib * 1024) / MIB;
}

/**
 * Distinguishes a process from a later one with the same pid, after a restart of the machine too: its boot and its
 * start in clock ticks since then. Undefined where it is gone (a zombie is), and on systems without /proc.
 */
export function processBirth(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  const boot = read('/proc/sys/kernel/random/boot_id');
  if (stat === undefined || boot === undefined) return undefined;
  // The second field is the command in parentheses and may hold anything, parentheses too.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  const start = fields[19];
  return state === 'Z' || start === undefined ? undefined : `${boot.trim()} ${start}`;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
