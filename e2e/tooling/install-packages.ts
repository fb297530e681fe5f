import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { SystemPackage } from './packages.ts';
import { runCommand } from './run-command.ts';

/** Called before a service is started: 101 forbids it. */
const POLICY = '/usr/sbin/policy-rc.d';

/** The packages of the list that are not on this machine. */
export function missingPackages(list: readonly SystemPackage[], searchPath: string): SystemPackage[] {
  const folders = searchPath.split(path.delimiter);
  return list.filter(({ provides }) => {
    const candidates = path.isAbsolute(provides) ? [provides] : folders.map((folder) => path.join(folder, provides));
    return !candidates.some((file) => isThere(file, path.isAbsolute(provides) ? constants.R_OK : constants.X_OK));
  });
}

function isThere(file: string, mode: number): boolean {
  try {
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}

/**
 * Installs what is missing, with apt-get and as root; says what it does.
 * @returns whether everything is there; when not, it has said what to install and how
 */
export async function installPackages(list: readonly SystemPackage[]): Promise<boolean> {
  const searchPath = process.env['PATH'] ?? '';
  const missing = missingPackages(list, searchPath);
  const names = missing.map(({ name }) => name);
  if (names.length === 0) return true;
  const hasApt = missingPackages([{ name: 'apt', provides: 'apt-get' }], searchPath).length === 0;
  if (process.getuid?.() === 0 && hasApt) {
    console.log(`Installing the Debian packages that the tests need: ${names.join(', ')}`);
    const environment = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q'];
    await runCommand('env', [...environment, 'update']);
    await withoutServices(missing, () =>
      runCommand('env', [...environment, 'install', '-y', '--no-install-recommends', ...names]),
    );
  }
  const still = missingPackages(list, searchPath).map(({ name }) => name);
  if (still.length === 0) return true;
  console.error(`The tests need these Debian packages: ${still.join(', ')}. Install them with`);
  console.error(`  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${still.join(' ')}`);
  return false;
}

/** Debian starts what it installs, now and at each boot, unless that is forbidden. */
async function withoutServices(list: readonly SystemPackage[], install: () => Promise<unknown>): Promise<void> {
  const hasOwn = existsSync(POLICY);
  if (!hasOwn) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await install();
  } finally {
    if (!hasOwn) rmSync(POLICY);
  }
  const services = list.flatMap((item) => item.services ?? []);
  if (services.length > 0 && existsSync('/run/systemd/system')) await runCommand('systemctl', ['disable', ...services]);
}
