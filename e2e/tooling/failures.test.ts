import type { JestResults } from './count-results.ts';
import { failuresOf, slowestFiles, tally } from './failures.ts';

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
      startTime: 100,
      endTime: 1600,
      assertionResults: [test('one', 'passed'), test('two', 'failed')],
    },
    { name: '/repo/b.test.ts', status: 'failed', startTime: 0, endTime: 0, assertionResults: [] },
    {
      name: '/repo/c.test.ts',
      status: 'passed',
      startTime: 5000,
      endTime: 25_000,
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

it('the slowest files come first, by their paths in the repository', () => {
  expect(slowestFiles(results, 2, '/repo')).toEqual(['   20.0 s  c.test.ts', '    1.5 s  a.test.ts']);
});
