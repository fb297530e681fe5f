import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './reference-table.ts';

/** Letters of the groups in docs/reference/requirements.md; %C3 and the like in tests of escapes are none of them. */
const NUMBER = /\b[RBSMFEK]\d{1,2}\b/g;

const numbersIn = (text: string): string[] => text.match(NUMBER) ?? [];
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

describe('docs/reference/requirements.md', () => {
  const explained = [...read('docs/reference/requirements.md').matchAll(/^\| ([A-Z]\d+) \|/gm)].map(([, number = '']) => number);
  const sources = globSync('{*/src,e2e/{suites,cluster-suites,chart}}/**/*.ts', { cwd: ROOT }).filter((file) => !/node_modules|fixtures/.test(file));

  it('explains every number that sources and tests name', () => {
    const unknown = sources.flatMap((file) => numbersIn(read(file)).filter((number) => !explained.includes(number)).map((number) => `${file}: ${number}`));
    expect(unknown).toEqual([]);
  });

  it('explains none that no test names', () => {
    const named = new Set(sources.filter((file) => /\.test\.ts$|-contract\.ts$/.test(file)).flatMap((file) => numbersIn(read(file))));
    expect(explained.filter((number) => !named.has(number))).toEqual([]);
  });

  it('explains each number once', () => {
    expect(explained).toEqual([...new Set(explained)]);
  });
});
