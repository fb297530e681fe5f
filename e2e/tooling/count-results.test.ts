import { countResults } from './count-results.ts';
import type { JestResults } from './count-results.ts';

function file(status: string, ...statuses: string[]): JestResults['testResults'][number] {
  const assertionResults = statuses.map((each, index) => ({ ancestorTitles: ['a'], title: `${index}`, status: each }));
  return { name: 'x.test.ts', status, assertionResults };
}

it.each([
  ['passed tests', [file('passed', 'passed', 'passed')], 2, 0],
  ['a failed test once, not again for its file', [file('failed', 'passed', 'failed')], 1, 1],
  ['a skipped test as failed', [file('passed', 'passed', 'pending')], 1, 1],
  ['a todo as failed', [file('passed', 'todo')], 0, 1],
  ['a file that did not load as failed', [file('failed')], 0, 1],
  ['a file without a test as failed', [file('passed')], 0, 1],
  ['a file that failed though its tests passed', [file('failed', 'passed')], 1, 1],
  ['files together', [file('passed', 'passed'), file('failed', 'failed'), file('failed')], 1, 2],
])('counts %s', (_what, testResults, passed, failed) => {
  expect(countResults({ testResults })).toMatchObject({ passed, failed });
});

it('names the tests that did not run', () => {
  const { remarks } = countResults({ testResults: [file('passed', 'passed', 'pending')] });
  expect(remarks).toEqual(['x.test.ts > a > 1: pending, not run']);
});
