import { readFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * The parts of Hono that JSX needs, which the platform serves: by specifier, the file in Hono's package. Nothing else
 * of Hono is served.
 */
const ENTRIES: Record<string, string> = {
  'hono/jsx': 'dist/jsx/index.js',
  'hono/jsx/jsx-runtime': 'dist/jsx/jsx-runtime.js',
  'hono/jsx/jsx-dev-runtime': 'dist/jsx/jsx-dev-runtime.js',
  'hono/jsx/streaming': 'dist/jsx/streaming.js',
};

/** Hono's file for a specifier in an author's code, if it is one of the few. */
export const honoEntry = (specifier: string): string | undefined =>
  Object.hasOwn(ENTRIES, specifier) ? ENTRIES[specifier] : undefined;

/** Hono's own relative imports; its files name each other in full. */
export const honoImport = (specifier: string, importer: string): string =>
  path.posix.join(path.posix.dirname(importer), specifier);

export async function readHonoFile(folder: string, file: string): Promise<string> {
  if (!/^dist\/[\w./-]+\.js$/.test(file) || file.includes('..')) throw new Error('not a file of Hono');
  return readFile(path.join(folder, file), 'utf8');
}
