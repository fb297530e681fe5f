import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

/** Many times what it needs: a program that hangs is killed, and the caller may retry. */
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The program of one of our processes as one CommonJS script. In the builder's image, where its source is not, the
 * script lies as `<name>.cjs` beside the builder's bundle (`write-process-scripts.ts`); elsewhere it is bundled from
 * the source.
 * @param entry the program's TypeScript file.
 * @param alias the file that is bundled in place of a package, by the package's name.
 * @throws Error when bundling takes too long, or with what esbuild says.
 */
export async function processScript(entry: string, alias: Record<string, string> = {}): Promise<string> {
  return (await prebuiltScript(entry)) ?? bundle(entry, alias);
}

async function prebuiltScript(entry: string): Promise<string | undefined> {
  try {
    return await readFile(new URL(`${path.basename(entry, '.ts')}.cjs`, import.meta.url), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** By esbuild's command line: it blocks nothing, and no process of it stays. */
async function bundle(entry: string, alias: Record<string, string>): Promise<string> {
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

/** esbuild's program for this machine. */
export function esbuildBinary(): string {
  const esbuild = createRequire(import.meta.url).resolve('esbuild');
  return path.join(
    path.dirname(createRequire(esbuild).resolve(`@esbuild/${process.platform}-${process.arch}/package.json`)),
    'bin/esbuild',
  );
}
