import type { JestResults } from './count-results.ts';
import { failuresOf, slowestFiles, tally, type TimedFile } from './failures.ts';

const test = (title: string, status: string): JestResults['testResults'][number]['assertionResults'][number] => ({
  ancestorTitles: ['outer'],
  title,
  status,
});
const results: JestResults = {
  testResults: [
    {
      name: '/repo/a.test.ts',
      status: 'failed',
      assertionResults: [test('one', 'passed'), test('two', 'failed')],
    },
    { name: '/repo/b.test.ts', status: 'failed', assertionResults: [] },
    {
      name: '/repo/c.test.ts',
      status: 'passed',
      assertionResults: [test('three', 'passed')],
    },
  ],
};

it('what failed is named by file and test; a file that failed as a whole by itself', () => {
  expect(failuresOf(results)).toEqual(['/repo/a.test.ts > outer > two', '/repo/b.test.ts']);
});

it('failures are counted, the most frequent first', () => {
  expect(tally(['a', 'b', 'b', 'c', 'b', 'c'])).toEqual([
    ['b', 3],
    ['c', 2],
    ['a', 1],
  ]);
});

it('the slowest files come first, by their paths in the repository, and the sum of all is the last line', () => {
  const timed = (name: string, start: number, end: number, cpuSeconds?: number): TimedFile => ({
    testFilePath: `/repo/${name}`,
    perfStats: { start, end },
    ...(cpuSeconds === undefined ? {} : { cpuSeconds }),
  });
  const files = [timed('a.test.ts', 100, 1600, 0.25), timed('b.test.ts', 0, 0), timed('c.test.ts', 5000, 25_000, 31)];
  expect(slowestFiles(files, 2, '/repo')).toEqual([
    '    wall       CPU  the slowest files',
    '    20.0 s    31.0 s  c.test.ts',
    '     1.5 s     0.3 s  a.test.ts',
    '    21.5 s    31.3 s  all 3 files',
  ]);
});
