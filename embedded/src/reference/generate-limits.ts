/** Writes docs/reference/limits.md, which is committed; `npm run verify` runs this and compares. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { limitsPage } from './limits/limits-page.ts';

writeFileSync(path.join(import.meta.dirname, '../../../docs/reference/limits.md'), limitsPage());
