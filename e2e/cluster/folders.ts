import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

/** Contains what was built once for this machine, and the state of clusters: outside the tree. */
export function cacheFolder(...names: string[]): string {
  const base = process.env['XDG_CACHE_HOME'] ?? '';
  return path.join(path.isAbsolute(base) ? base : path.join(homedir(), '.cache'), 'wherry', ...names);
}

/** A digest of texts and of the files at absolute paths, short enough for a folder's name. */
export function digestOf({ texts = [], files = [] }: { texts?: readonly string[]; files?: readonly string[] }): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(JSON.stringify(text));
  for (const file of files) {
    const content = readFileSync(file);
    hash.update(`${path.basename(file)} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}
