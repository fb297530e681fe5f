import path from 'node:path';
import type { JestResults } from './count-results.ts';

/** What failed, a line each: the file and the test, or the file alone where it failed as a whole. */
export function failuresOf({ testResults }: JestResults): string[] {
  return testResults.flatMap(({ name: file, status, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status !== 'passed');
    if (failed.length === 0) return status === 'passed' ? [] : [file];
    return failed.map(({ ancestorTitles, title }) => [file, ...ancestorTitles, title].join(' > '));
  });
}

/** Each with how often it is there, the most frequent first. */
export function tally(lines: readonly string[]): [string, number][] {
  const counts = [...Map.groupBy(lines, (line) => line)].map(([line, all]): [string, number] => [line, all.length]);
  return counts.sort(([, a], [, b]) => b - a);
}

/** Of a result of jest, with what jest-child.js adds to it. */
export interface TimedFile {
  testFilePath: string;
  perfStats: { start: number; end: number };
  /** None for a file whose process ended before it was done. */
  cpuSeconds?: number;
}

/** A table of the files that took longest: wall time, CPU time, path. */
export function slowestFiles(files: readonly TimedFile[], howMany: number, root: string): string[] {
  const rows = files.map(({ testFilePath, perfStats, cpuSeconds }) => ({
    name: path.relative(root, testFilePath),
    wall: (perfStats.end - perfStats.start) / 1000,
    cpu: cpuSeconds ?? 0,
  }));
  const all = (key: 'wall' | 'cpu'): number => rows.reduce((sum, row) => sum + row[key], 0);
  const slowest = rows.toSorted((a, b) => b.wall - a.wall).slice(0, howMany);
  return [
    `    wall       CPU  the slowest files`,
    ...[...slowest, { name: `all ${rows.length} files`, wall: all('wall'), cpu: all('cpu') }].map(
      ({ name, wall, cpu }) => `${wall.toFixed(1).padStart(8)} s ${cpu.toFixed(1).padStart(7)} s  ${name}`,
    ),
  ];
}
