/** The part that is read here of what `jest --json` writes. */
export interface JestResults {
  testResults: {
    name: string;
    status: string;
    assertionResults: { ancestorTitles: string[]; title: string; status: string }[];
  }[];
}

export interface Counts {
  passed: number;
  failed: number;
  /** What counts as failed although jest accepts it, one line each. */
  remarks: string[];
}

/**
 * Counts tests. Every test that did not run and pass is a failure: skipped ones, and a file that failed without naming
 * a test (it did not load, its process died) counts as one.
 */
export function countResults(results: JestResults): Counts {
  const counts: Counts = { passed: 0, failed: 0, remarks: [] };
  for (const { name: file, status: fileStatus, assertionResults: tests } of results.testResults) {
    for (const { ancestorTitles, title, status } of tests) {
      if (status === 'passed') counts.passed += 1;
      else counts.failed += 1;
      if (status !== 'passed' && status !== 'failed') {
        counts.remarks.push(`${[file, ...ancestorTitles, title].join(' > ')}: ${status}, not run`);
      }
    }
    const namesItsFailure = tests.some(({ status }) => status !== 'passed');
    if (!namesItsFailure && (fileStatus !== 'passed' || tests.length === 0)) {
      counts.failed += 1;
      counts.remarks.push(`${file}: failed as a whole`);
    }
  }
  return counts;
}
