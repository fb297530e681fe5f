import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './reference-table.ts';

interface ProductSource {
  /** `router`, `operator` ... */
  part: string;
  /** Relative to the root. */
  file: string;
  text: string;
}

const NOT_PRODUCT = /\.test\.ts$|(?:^|\/)(?:testing|node_modules)\/|^embedded\/src\/reference\//;

/** Every source file that runs in production: what writes pages of the reference does not. */
export function productSources(): ProductSource[] {
  return globSync('*/src/**/*.ts', { cwd: ROOT })
    .filter((file) => !NOT_PRODUCT.test(file))
    .map((file) => ({ part: file.split('/', 1)[0] ?? '', file, text: readFileSync(path.join(ROOT, file), 'utf8') }));
}
