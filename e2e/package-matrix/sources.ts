import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Row } from './matrix.ts';

const FIXTURES = path.join(import.meta.dirname, 'fixtures');

export interface SourceOfRow {
  /** The handler's path in the source. */
  handler: string;
  /** Text by path, as an author has them. */
  files: Record<string, string>;
}

/** The source that a row's function is made of: the handler, what it imports beside it, package.json and the lock. */
export function sourceOf({ name, form, packages }: Row): SourceOfRow {
  const handler = ['ts', 'tsx']
    .map((extension) => `${name}.${extension}`)
    .find((file) => existsSync(path.join(FIXTURES, file)));
  if (handler === undefined) throw new Error(`there is no handler fixtures/${name}.ts`);
  const files = withImports(handler);
  if (form === 'npm:') return { handler, files };
  const code = Object.values(files).join('\n');
  const byManifest = Object.entries(packages).filter(([name]) => !code.includes(`npm:${name}@`));
  files['package.json'] = JSON.stringify(
    { name, private: true, dependencies: Object.fromEntries(byManifest) },
    undefined,
    2,
  );
  if (form === 'package.json and lock') files['package-lock.json'] = fixture(`locks/${name}.json`);
  return { handler, files };
}

/** What `npm:` specifiers of the handler require: version by package. */
export function specifiersOf(code: string): Record<string, string> {
  const found = code.matchAll(/npm:((?:@[^/'@]+\/)?[^/'@]+)@([^/'\s]+)/g);
  return Object.fromEntries([...found].map(([, name = '', version = '']) => [name, version]));
}

const fixture = (file: string): string => readFileSync(path.join(FIXTURES, file), 'utf8');

function withImports(file: string): Record<string, string> {
  const text = fixture(file);
  const beside = [...text.matchAll(/from '\.\/([^']+)'/g)].map(([, imported = '']) => imported);
  return Object.assign({ [file]: text }, ...beside.map(withImports)) as Record<string, string>;
}
