import { readFileSync } from 'node:fs';
import { descendants } from '@wherry/e2e/testing/processes.ts';

/** What a process is in the service's tree. */
type Role = 'npm' | 'service' | 'router' | 'runtime' | 'build';

/** Memory of one process, in MiB. */
export interface ProcessMemory {
  pid: number;
  role: Role;
  /** Its share: pages that several processes map are divided among them. */
  pss: number;
  /** What would be free if it ended. */
  own: number;
}

/** Each process of the tree below `npm start`, npm included. Linux only. */
export function memoryOfTree(npmPid: number): ProcessMemory[] {
  const below = descendants(npmPid).map(({ pid, command }) => ({ pid, role: roleOf(command) }));
  return [{ pid: npmPid, role: 'npm' as const }, ...below].flatMap(({ pid, role }) => {
    const memory = memoryOf(pid);
    return memory === undefined ? [] : [{ pid, role, ...memory }];
  });
}

function roleOf(command: string): Role {
  if (/\/runtime[^/ ]*\.cjs$/.test(command)) return 'runtime';
  if (command.includes('/router')) return 'router';
  if (command.includes('/builder')) return 'build';
  return /node\S* .*embedded\//.test(command) && !command.startsWith('sh ') ? 'service' : 'npm';
}

function memoryOf(pid: number): { pss: number; own: number } | undefined {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const mebibytes = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) / 1024;
    return { pss: mebibytes('Pss'), own: mebibytes('Private_Clean') + mebibytes('Private_Dirty') };
  } catch {
    // It ended while it was being read.
    return undefined;
  }
}
