/**
 * How long each test file took in the last whole run on this machine, in milliseconds by its path. The longest run
 * first, so that none of them runs alone at the end beside an idle core.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

const FILE = path.join(homedir(), '.cache', 'wherry', 'test-durations.json');
/** Runs of fewer files are somebody's work on a part. */
const WHOLE_RUN = 100;

/** Nothing where no run has ended yet, or the file is damaged: the order is then the given one. */
export function readDurations(file = FILE): Map<string, number> {
  try {
    const entries = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>);
    return new Map(entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])));
  } catch {
    return new Map();
  }
}

/** @param durations those of one run: they take the place of the last one's. */
export function keepDurations(
  durations: ReadonlyMap<string, number>,
  { file = FILE, wholeRun = WHOLE_RUN } = {},
): void {
  if (durations.size < wholeRun) return;
  mkdirSync(path.dirname(file), { recursive: true });
  // Another run may write at the same time: one of the two is kept, whole.
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(Object.fromEntries(durations)));
  renameSync(temporary, file);
}

/** As a first run on a machine estimates its files, in milliseconds: packages, API servers, the whole service. */
const ESTIMATES: readonly (readonly [RegExp, number])[] = [
  [/^e2e\/package-matrix\//, 300_000],
  [/^(operator\/src\/program|manager\/src\/main\.)/, 150_000],
  [/^e2e\/suites\//, 30_000],
  [/^(e2e|kube|embedded)\//, 10_000],
];

/** Files that no run has measured are estimated by their folder; those of one estimate keep their order. */
export function longestFirst(paths: readonly string[], durations: ReadonlyMap<string, number>): string[] {
  const estimate = (file: string): number =>
    durations.get(file) ?? ESTIMATES.find(([files]) => files.test(file))?.[1] ?? 0;
  return paths.toSorted((a, b) => estimate(b) - estimate(a));
}
