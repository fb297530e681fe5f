import childProcess from 'node:child_process';
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import type * as Esbuild from 'esbuild';

/**
 * esbuild's library with the one esbuild process that the service started for us, over file descriptors 4 (its standard
 * input) and 5 (its standard output). The library can only get one by `spawn`, and this process may start none. After
 * `stop()` it is gone for good.
 */
export function inheritedEsbuild(esbuildFile: string): typeof Esbuild {
  const stdin = new Socket({ fd: 4, readable: false, writable: true });
  const stdout = new Socket({ fd: 5, readable: true, writable: false });
  const nothing = (): void => undefined;
  // It ends when its standard input does, and the service ends it anyway.
  const given = Object.assign(new EventEmitter(), { stdin, stdout, kill: nothing, ref: nothing, unref: nothing });
  childProcess.spawn = (() => {
    if (stdin.destroyed) throw new Error('esbuild was stopped');
    return given;
  }) as unknown as typeof childProcess.spawn;
  return createRequire(esbuildFile)(esbuildFile) as typeof Esbuild;
}
