/** Writes docs/reference/openapi.json, which is committed; `npm run verify` runs this and compares. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openapiDocument } from './openapi-document.ts';

const file = path.join(import.meta.dirname, '../../../docs/reference/openapi.json');
mkdirSync(path.dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(openapiDocument(), null, 2)}\n`);
