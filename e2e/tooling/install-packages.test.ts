import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { missingPackages } from './install-packages.ts';

it('finds what is missing: a program in PATH, or a file by its whole path', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-packages-'));
  try {
    writeFileSync(path.join(folder, 'tool'), '', { mode: 0o755 });
    writeFileSync(path.join(folder, 'data'), '', { mode: 0o644 });
    const list = [
      { name: 'here', provides: 'tool' },
      { name: 'not-executable', provides: 'data' },
      { name: 'file-here', provides: path.join(folder, 'data') },
      { name: 'program-gone', provides: 'other-tool' },
      { name: 'file-gone', provides: path.join(folder, 'nothing') },
    ];
    const names = missingPackages(list, `/nonexistent:${folder}`).map(({ name }) => name);
    expect(names).toEqual(['not-executable', 'program-gone', 'file-gone']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
