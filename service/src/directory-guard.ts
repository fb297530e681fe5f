import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** A database that nobody refers to is closed by the garbage collector, which would let the lock go. */
const held = new Set<DatabaseSync>();

/**
 * Takes a lock of the kernel, which SQLite holds on the file: it ends with the process however that dies, so that there
 * is no stale lock that two starters could take over at once, and a pid that means nothing in another container cannot
 * mislead. The file itself stays.
 * @returns how to let it go, harmless a second time; undefined where another process holds it.
 * @throws what the file system says where the file cannot be made, or has no locks.
 */
export function guardDirectory(file: string): { release(): void } | undefined {
  let guard: DatabaseSync | undefined;
  try {
    guard = new DatabaseSync(file, { timeout: 0 });
    guard.exec('BEGIN EXCLUSIVE');
    chmodSync(file, 0o600);
  } catch (error) {
    guard?.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  const taken = guard;
  held.add(taken);
  return {
    release() {
      if (held.delete(taken)) taken.close();
    },
  };
}

function isBusy(error: unknown): boolean {
  return (
    error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === 5
  );
}
