/**
 * Writes the table of docs/reference/packages.md from the results of the last run of the package matrix: npm test --
 * e2e/package-matrix/matrix && npm exec -- node e2e/package-matrix/write-table.ts
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { MATRIX } from './matrix.ts';
import { readResults } from './results-file.ts';
import { resultsTable } from './table.ts';

const PAGE = path.join(import.meta.dirname, '../../docs/reference/packages.md');
const [START, END] = ['<!-- results -->', '<!-- end of results -->'];

const page = await readFile(PAGE, 'utf8');
const [before, after] = [page.indexOf(START), page.indexOf(END)];
if (before === -1 || after < before) throw new Error(`${PAGE} has no ${START} … ${END}`);
const table = resultsTable(MATRIX, await readResults());
await writeFile(PAGE, `${page.slice(0, before + START.length)}\n\n${table}\n${page.slice(after)}`);
