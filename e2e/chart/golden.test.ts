import { readFileSync } from 'node:fs';
import path from 'node:path';
import { goldenFiles, goldenFolder } from './golden-files.ts';

describe('the rendered chart', () => {
  it.each(goldenFiles)(
    'is what $name says; after a change that is meant: node e2e/chart/write-golden.ts',
    async ({ name, text }) => {
      expect(await text()).toBe(readFileSync(path.join(goldenFolder, name), 'utf8'));
    },
  );
});
