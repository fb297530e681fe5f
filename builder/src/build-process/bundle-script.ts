import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

/** Many times what it takes: a program that hangs is ended, and the caller may try again. */
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** esbuild's program for this machine. */
export function esbuildBinary(): string {
  const esbuild = createRequire(import.meta.url).resolve('esbuild');
  return path.join(
    path.dirname(createRequire(esbuild).resolve(`@esbuild/${process.platform}-${process.arch}/package.json`)),
    'bin/esbuild',
  );
}

/**
 * One of our programs as one CommonJS script. By esbuild's command line: it blocks nothing, and no process of it stays.
 * @param alias what is read in place of a package, by its name.
 * @throws Error when it takes too long, or what esbuild says.
 */
export async function bundleScript(entry: string, alias: Record<string, string> = {}): Promise<string> {
  const options = ['--bundle', '--format=cjs', '--platform=node', '--target=node24', '--log-level=error'];
  const aliases = Object.entries(alias).map(([name, file]) => `--alias:${name}=${file}`);
  const { stdout } = await promisify(execFile)(esbuildBinary(), [entry, ...options, ...aliases], {
    env: {},
    maxBuffer: MAX_BYTES,
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  return stdout;
}
