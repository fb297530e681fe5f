import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { verifyGenerated } from './verify-generated.ts';

const generator = { name: 'the list', program: 'generate.ts', outputs: ['list.json'] };
let tree: string;

beforeEach(() => {
  tree = mkdtempSync(path.join(tmpdir(), 'wherry-verify-'));
});

afterEach(() => {
  rmSync(tree, { recursive: true, force: true });
});

function writes(text: string, code = 0): () => Promise<number> {
  return () => {
    writeFileSync(path.join(tree, 'list.json'), text);
    return Promise.resolve(code);
  };
}

it('is content with a file that comes out the same', async () => {
  writeFileSync(path.join(tree, 'list.json'), '[1]\n');
  expect(await verifyGenerated(generator, tree, writes('[1]\n'))).toEqual([]);
});

it.each([
  ['an edited file', '[2]\n'],
  ['a missing file', undefined],
])('names %s and leaves the new text in its place', async (_what, before) => {
  if (before !== undefined) writeFileSync(path.join(tree, 'list.json'), before);
  const problems = await verifyGenerated(generator, tree, writes('[1]\n'));
  expect(problems).toEqual(['the list: list.json was out of date. It is written again: commit it.']);
  expect(readFileSync(path.join(tree, 'list.json'), 'utf8')).toBe('[1]\n');
});

it('fails when the generator fails', async () => {
  writeFileSync(path.join(tree, 'list.json'), '[1]\n');
  expect(await verifyGenerated(generator, tree, writes('[1]\n', 3))).toEqual([
    'the list: generate.ts ended with code 3',
  ]);
});

it('fails when the generator writes nothing', async () => {
  expect(await verifyGenerated(generator, tree, () => Promise.resolve(0))).toEqual([
    'the list: generate.ts did not write list.json',
  ]);
});
