import { readFileSync } from 'node:fs';
import { randomInt } from 'node:crypto';

/** Numbers that nothing else on a machine uses: between systemd's dynamic users and its containers, then Debian's gap. */
const CANDIDATES = [
  { first: 200_000, count: 10_000 },
  { first: 61_184, count: 3000 },
] as const;

export interface UidRange {
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

/**
 * The range that instances run under: undefined where this process may not become another user, or where its user
 * namespace holds none of the candidates.
 */
export function findUidRange(): UidRange | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return chooseUidRange(readFileSync('/proc/self/uid_map', 'utf8'), readFileSync('/proc/self/gid_map', 'utf8'));
}

/** The first candidate that both maps hold whole (lines of `inside outside count`). */
export function chooseUidRange(uidMap: string, gidMap: string): UidRange | undefined {
  return CANDIDATES.find((range) => holds(uidMap, range) && holds(gidMap, range));
}

function holds(map: string, range: UidRange): boolean {
  return map
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .some(([inside = 0, , count = 0]) => inside <= range.first && range.first + range.count <= inside + count);
}

/** Numbers are picked at random, so that two services on one machine are unlikely to share one. */
export function createUidPool(range: UidRange): UidPool {
  const taken = new Set<number>();
  return {
    take() {
      if (taken.size >= range.count) throw new Error(`All ${range.count} user ids for instances are taken.`);
      let uid = range.first + randomInt(range.count);
      while (taken.has(uid)) uid = range.first + ((uid - range.first + 1) % range.count);
      taken.add(uid);
      return uid;
    },
    give: (uid) => void taken.delete(uid),
  };
}
