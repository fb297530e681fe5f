/** Writes the golden files again, after a change of the chart that is meant: `node e2e/chart/write-golden.ts`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { goldenFiles, goldenFolder } from './golden-files.ts';

mkdirSync(goldenFolder, { recursive: true });
for (const { name, text } of goldenFiles) {
  writeFileSync(path.join(goldenFolder, name), await text());
  console.log(`written: ${name}`);
}
