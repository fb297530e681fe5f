import { readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second, on every machine. */
const TICKS_PER_SECOND = 100;

/** CPU time of this process, of the children that it has reaped, and of theirs; 0 where there is no /proc. */
export function cpuSeconds(): number {
  try {
    return inStat(readFileSync('/proc/self/stat', 'latin1'));
  } catch {
    return 0;
  }
}

/** @param stat what /proc/<pid>/stat says: the second field, the program's name, may contain anything */
export function inStat(stat: string): number {
  // After the name: state is field 3, and utime, stime, cutime and cstime are fields 14 to 17.
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15);
  return times.reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
}
