import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';

/**
 * Starts a program as `spawn` does, with pipes to it. When no file descriptor is left, Node creates none of the pipes
 * that its types promise, and emits an `error` that ends the whole process if nobody listens; here that becomes an
 * exception.
 * @throws Error when this process, or the machine, has no file descriptor left. Other failures are the child's `error`
 * event.
 */
export function spawnChild(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, options);
  if ((child.stdio as ChildProcess['stdio'] | undefined) !== undefined) return child;
  child.on('error', () => undefined);
  throw new Error(`${command} cannot be started: no file descriptor is left (EMFILE)`);
}
