import childProcess, { ChildProcess } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

type Options = { cwd?: string | URL | undefined };
type Started = (this: unknown, ...args: unknown[]) => unknown;

/**
 * From now on this process starts no other one whose working folder is the repository or lies in it: a command there
 * (`npm ci`, say) would change the files under all tests. Starting one throws.
 * @param root the repository's; node_modules in it, where caches lie, is no part of it
 */
export function refuseProcessesIn(root: string): void {
  const check = (options: Options | undefined): void => {
    const folder = workingFolder(options?.cwd);
    if (!isInside(root, folder) || isInside(path.join(root, 'node_modules'), folder)) return;
    throw new Error(`A test starts no process in the repository (${folder}): give it a folder of its own as \`cwd\`.`);
  };
  // All asynchronous variants call this.
  const target = ChildProcess.prototype as unknown as { spawn: Started };
  const { spawn } = target;
  target.spawn = function (...args) {
    check(args[0] as Options);
    return spawn.apply(this, args);
  };
  const module = childProcess as unknown as Record<'spawnSync' | 'execSync' | 'execFileSync', Started>;
  for (const name of ['spawnSync', 'execSync', 'execFileSync'] as const) {
    const started = module[name];
    module[name] = function (...args) {
      check(
        args.slice(1).find((argument) => typeof argument === 'object' && !Array.isArray(argument)) as
          Options | undefined,
      );
      return started.apply(this, args);
    };
  }
  syncBuiltinESMExports();
}

function workingFolder(cwd: string | URL | undefined): string {
  const folder = path.resolve(cwd instanceof URL ? fileURLToPath(cwd) : (cwd ?? '.'));
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

function isInside(parent: string, folder: string): boolean {
  const relative = path.relative(parent, folder);
  return relative === '' || (relative !== '..' && !relative.startsWith(`..${path.sep}`));
}
