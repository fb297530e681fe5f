import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keepDurations, longestFirst, readDurations } from './test-durations.ts';

describe('durations of test files', () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), 'wherry-durations-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('are those of the last whole run', () => {
    const file = path.join(folder, 'cache', 'durations.json');
    expect(readDurations(file).size).toBe(0);
    keepDurations(
      new Map([
        ['a.test.ts', 10],
        ['b.test.ts', 20],
      ]),
      { file, wholeRun: 2 },
    );
    keepDurations(
      new Map([
        ['b.test.ts', 30],
        ['c.test.ts', 40],
      ]),
      { file, wholeRun: 2 },
    );
    keepDurations(new Map([['b.test.ts', 50]]), { file, wholeRun: 2 });
    expect([...readDurations(file)]).toEqual([
      ['b.test.ts', 30],
      ['c.test.ts', 40],
    ]);
  });

  it('that cannot be read are none', () => {
    const file = path.join(folder, 'durations.json');
    writeFileSync(file, '{"a.test.ts": "long", ');
    expect(readDurations(file).size).toBe(0);
    writeFileSync(file, '{"a.test.ts": "long", "b.test.ts": 5}');
    expect([...readDurations(file)]).toEqual([['b.test.ts', 5]]);
  });

  it('put the longest first; of files that are not known, those that run programs', () => {
    const durations = new Map([
      ['short', 1],
      ['long', 100],
    ]);
    expect(longestFirst(['x', 'short', 'y', 'long'], durations)).toEqual(['long', 'short', 'x', 'y']);
    expect(longestFirst(['core/a', 'e2e/suites/a', 'e2e/suites/b', 'e2e/package-matrix/c'], new Map())).toEqual([
      'e2e/package-matrix/c',
      'e2e/suites/a',
      'e2e/suites/b',
      'core/a',
    ]);
  });
});
