import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { cacheFolder } from './folders.ts';
import { say } from './progress.ts';

const SAY_AFTER_MS = 2000;

/**
 * Runs something that only one process of this machine may do at a time. The kernel holds the lock for a child process
 * that ends with this process, however that ends.
 * @param name what the lock is called, a file's name
 * @param what what another run would be doing, for the line that says that we wait
 */
export async function withLock<T>(name: string, what: string, run: () => Promise<T>): Promise<T> {
  mkdirSync(cacheFolder('locks'), { recursive: true });
  const holder = spawn('flock', [cacheFolder('locks', name), 'sh', '-c', 'echo; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const failed = once(holder, 'close').then(() => Promise.reject(new Error('flock ended: is util-linux installed?')));
  failed.catch(() => undefined);
  const timer = setTimeout(() => say(`Another run is busy with it (${what}): waiting for its end`), SAY_AFTER_MS);
  try {
    await Promise.race([once(holder.stdout, 'data'), failed]);
    clearTimeout(timer);
    return await run();
  } finally {
    clearTimeout(timer);
    holder.stdin.end();
  }
}
