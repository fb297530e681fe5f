import { readFile } from 'node:fs/promises';

/**
 * A program that was made with the builder's image, where its source is not: `<name>.cjs` beside the builder's bundle.
 * @param source the program's TypeScript file.
 * @returns undefined where there is none: the source is there, and the script is made from it.
 */
export async function madeScript(source: string): Promise<string | undefined> {
  try {
    return await readFile(source.replace(/\.ts$/, '.cjs'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
