import { readFileSync } from 'node:fs';
import { randomInt } from 'node:crypto';

/**
 * Ranges that nothing else on a machine uses: between systemd's dynamic users and its containers, then Debian's gap.
 */
const CANDIDATES = [
  { first: 200_000, count: 10_000 },
  { first: 61_184, count: 3000 },
] as const;

interface UidRange {
  first: number;
  count: number;
}

/** One number for each instance, its uid and its gid: so that no instance can signal, trace or read another. */
export interface UidPool {
  /** A number that no other instance has. */
  take(): number;
  /** After the last process that had it is gone. */
  give(uid: number): void;
}

/** chown, reach into their folders (to call them), signal them, become them. */
const NEEDED_CAPABILITIES = { CHOWN: 0, DAC_OVERRIDE: 1, KILL: 5, SETGID: 6, SETUID: 7 };

/**
 * The range that instances run under: undefined where this process may not become another user (not root, a container
 * without the capabilities, not Linux), or where its user namespace holds none of the candidates.
 */
export function findUidRange(): UidRange | undefined {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return undefined;
  const read = (name: string): string => readFileSync(`/proc/self/${name}`, 'utf8');
  return mayBecomeOthers(read('status')) ? chooseUidRange(read('uid_map'), read('gid_map')) : undefined;
}

/** Whether a process has the capabilities that running as others needs, by its `/proc/<pid>/status`. */
export function mayBecomeOthers(status: string): boolean {
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return Object.values(NEEDED_CAPABILITIES).every((bit) => ((effective >> BigInt(bit)) & 1n) === 1n);
}

/** The number that builds run under: the one after those of the instances. */
export function buildUid(range: UidRange): number {
  return range.first + range.count;
}

/** The number of the process that has the registry's token: no build and no instance has it (B1). */
export function installUid(range: UidRange): number {
  return buildUid(range) + 1;
}

/** The first candidate that both maps hold whole, those two numbers too (lines of `inside outside count`). */
export function chooseUidRange(uidMap: string, gidMap: string): UidRange | undefined {
  return CANDIDATES.find((range) => holds(uidMap, range) && holds(gidMap, range));
}

function holds(map: string, range: UidRange): boolean {
  return map
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .some(([inside = 0, , count = 0]) => inside <= range.first && installUid(range) < inside + count);
}

/** Numbers are picked at random, so that two services on one machine are unlikely to share one. */
export function createUidPool(range: UidRange): UidPool {
  const taken = new Set<number>();
  return {
    take() {
      if (taken.size >= range.count) throw new Error(`All ${range.count} user ids for instances are in use.`);
      let uid = range.first + randomInt(range.count);
      while (taken.has(uid)) uid = range.first + ((uid - range.first + 1) % range.count);
      taken.add(uid);
      return uid;
    },
    give: (uid) => void taken.delete(uid),
  };
}
