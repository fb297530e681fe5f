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

/** The files that took longest, as `12.3 s  path` each. */
export function slowestFiles({ testResults }: JestResults, howMany: number, root: string): string[] {
  const files = testResults.map(({ name, startTime, endTime }) => ({
    name: name.replace(`${root}/`, ''),
    seconds: (endTime - startTime) / 1000,
  }));
  const slowest = files.sort((a, b) => b.seconds - a.seconds).slice(0, howMany);
  return slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`);
}
