import { spawnSync } from 'node:child_process';

const PATHS = ['/usr/bin/setpriv', '/bin/setpriv'];

/**
 * What instances are started under: they die with the service, even in an endless loop that never sees the end of its
 * feed (the kernel kills them); and gain no rights through what they execute.
 */
export const SETPRIV_OPTIONS = ['--pdeathsig', 'KILL', '--no-new-privs', '--'];

/**
 * Path of util-linux's setpriv. Busybox has a program of that name with fewer options, hence the trial (milliseconds,
 * once).
 */
export function findSetpriv(paths: readonly string[] = PATHS): string | undefined {
  return paths.find((file) => spawnSync(file, [...SETPRIV_OPTIONS, file, '--version'], { env: {} }).status === 0);
}
