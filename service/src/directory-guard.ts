import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** A database that nothing refers to is closed by the garbage collector, which would release the lock. */
const held = new Set<DatabaseSync>();

/**
 * Takes a lock of the kernel, which SQLite holds on the file: the kernel releases it however the process dies. So there
 * is no stale lock that two starting programs could take over at once, and no pid that means nothing in another
 * container. The file itself stays.
 * @returns a function that releases it, and may be called again; undefined where another process holds it.
 * @throws the file system's error where the file cannot be created or locks are not supported.
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
