import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { columnOf, readReferenceTable, ROOT } from './testing/reference-table.ts';

/** Numbers of the groups in docs/reference/requirements.md; %C3 and the like in tests of escapes are none of them. */
const NUMBER = /\b(?:[RBSMFGEK]|FT)\d{1,2}[a-z]?\b/g;
const GROUPS = [
  'The function port',
  'Builds',
  'Running functions',
  'The management port and files',
  'Encryption and state',
  'Faults',
];
/** A line on which a test or a group of tests, or a row of a table of tests, has its title. */
const TITLE = /^\s*(?:(?:it|describe|rootIt)\b|\]+\)?\s*(?:as const)?\)\(|\[*['"`]).*/gm;

const numbersIn = (text: string): string[] => text.match(NUMBER) ?? [];
const titlesIn = (text: string): string[] => numbersIn([...text.matchAll(TITLE)].join('\n').replace(/\/\/.*$/gm, ''));
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const tableOf = (heading: string): string[] => columnOf(readReferenceTable('requirements.md', heading), 'Number');

describe('docs/reference/requirements.md', () => {
  const proved = GROUPS.flatMap(tableOf);
  const open = tableOf('Open');
  const sources = globSync('{*/src,e2e/{setup,suites,cluster-suites,chart}}/**/*.ts', { cwd: ROOT }).filter(
    (file) => !file.includes('node_modules') && !import.meta.filename.endsWith(file),
  );
  const titled = new Set(
    sources.filter((file) => /\.test\.ts$|-contract\.ts$/.test(file)).flatMap((file) => titlesIn(read(file))),
  );

  it('explains every number that sources and tests name', () => {
    const explained = [...proved, ...open];
    const unknown = sources.flatMap((file) =>
      numbersIn(read(file))
        .filter((number) => !explained.includes(number))
        .map((number) => `${file}: ${number}`),
    );
    expect(unknown).toEqual([]);
  });

  it('has a test for each number that it calls proved, which has the number in its title', () => {
    expect(proved.filter((number) => !titled.has(number))).toEqual([]);
  });

  it('lists as open only what no title of a test claims', () => {
    expect(open.filter((number) => titled.has(number))).toEqual([]);
  });

  it('has each number once, as proved or as open', () => {
    const all = [...proved, ...open];
    expect(all.toSorted()).toEqual([...new Set(all)].toSorted());
  });

  it('leaves no number of a group out, and opens a part of what it knows alone', () => {
    const all = [...proved, ...open].map((number) => /^([A-Z]+)(\d+)([a-z]?)$/.exec(number) ?? []);
    for (const letters of new Set(all.map(([, group]) => group))) {
      const numbers = [
        ...new Set(all.flatMap(([, group, number]) => (group === letters ? [Number(number)] : []))),
      ].sort((a, b) => a - b);
      expect([letters, ...numbers]).toEqual([letters, ...numbers.map((_number, at) => at + 1)]);
    }
    const parts = all.filter(([, , , part]) => part !== '').map(([, group = '', number = '']) => `${group}${number}`);
    expect(parts.filter((whole) => !proved.includes(whole))).toEqual([]);
  });
});
