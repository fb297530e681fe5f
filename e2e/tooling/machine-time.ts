import { readFileSync } from 'node:fs';

/** A machine on which every process always waits for a core counts as this many times slower, at most. */
const SLOWEST = 10;
/** Linux counts there for how long some process could have run and had no core, or waited for the disk. */
const PRESSURE = ['/proc/pressure/cpu', '/proc/pressure/io'];

const { performance } = globalThis;
let wall = performance.now();
let stalled = stalledMs();
let elapsed = 0;

declare global {
  /** The same, for tests, which import nothing of this folder. */
  var machineTime: () => number;
}

/**
 * Milliseconds from an arbitrary start, as they would go by on a machine that has nothing else to do: what a limit in a
 * test is measured in. Time in which processes wait for a core or the disk counts for less, a tenth at least. Where the
 * kernel does not count it, it is the time of the clock.
 */
export function machineTime(): number {
  const [lastWall, lastStalled] = [wall, stalled];
  wall = performance.now();
  stalled = stalledMs();
  elapsed += unhindered(wall - lastWall, stalled - lastStalled);
  return elapsed;
}

/** How much of a period counts in which processes waited for this long. */
export function unhindered(wallMs: number, stalledMs: number): number {
  return Math.max(wallMs - stalledMs, wallMs / SLOWEST);
}

function stalledMs(): number {
  return PRESSURE.reduce((sum, file) => sum + readTotal(file), 0);
}

function readTotal(file: string): number {
  try {
    return Number(/^some .*total=(\d+)$/m.exec(readFileSync(file, 'latin1'))?.[1] ?? 0) / 1000;
  } catch {
    return 0;
  }
}
