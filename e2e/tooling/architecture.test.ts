import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './run-command.ts';

interface Imports {
  always: string[];
  /** From its `main.ts` alone. */
  lazily: string[];
}

/** The table of parts in ARCHITECTURE.md: what each may import, by its folder. */
function describedImports(): Record<string, Imports> {
  const text = readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8');
  const rows = text.matchAll(/^\| `([a-z0-9-]+)\/` \| .* \| ([^|]+) \|$/gm);
  return Object.fromEntries(
    [...rows].map(([, part = '', imports = '']) => {
      const [always = '', lazily] = imports.split('; lazily ');
      return [part, { always: always.split(', ').sort(), lazily: lazily?.split(', ').sort() ?? [] }];
    }),
  );
}

describe('ARCHITECTURE.md', () => {
  it('lists every part that is there, and no other', () => {
    const parts = readdirSync(root).filter(
      (folder) => existsSync(path.join(root, folder, 'package.json')) && folder !== 'node_modules',
    );
    expect(Object.keys(describedImports()).sort()).toEqual(parts.sort());
  });

  it('says which part may import which, as lint holds it', async () => {
    type Table = Record<string, readonly string[]>;
    const held = (await import(path.join(root, '.dependency-cruiser.js'))) as { importTable: Table; lazyParts: Table };
    // zod is core's one package; what e2e and bench may do is said in words.
    const { core, e2e, bench, ...described } = describedImports();
    expect([core, e2e, bench].map((imports) => imports?.always)).toEqual([['zod'], ['no other part'], ['anything']]);
    for (const [part, imports] of Object.entries(described)) {
      const always = [...(held.importTable[part] ?? [])].sort();
      expect({ part, ...imports }).toEqual({ part, always, lazily: [...(held.lazyParts[part] ?? [])].sort() });
    }
  });
});
