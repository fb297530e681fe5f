import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Outcome } from './run-row.ts';

/** Where the test stores its results, for the table in the documentation. */
const FILE = path.join(import.meta.dirname, '../../.cache/package-matrix.json');

export async function writeResults(outcomes: readonly Outcome[]): Promise<void> {
  await mkdir(path.dirname(FILE), { recursive: true });
  await writeFile(FILE, `${JSON.stringify(outcomes, undefined, 1)}\n`);
}

export async function readResults(): Promise<Outcome[]> {
  return JSON.parse(await readFile(FILE, 'utf8')) as Outcome[];
}
