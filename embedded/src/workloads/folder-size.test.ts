import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { holdsMore } from './folder-size.ts';
import { removeTree } from './remove-tree.ts';
import { makeDeepTree } from './testing/deep-tree.ts';

describe('holdsMore', () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(path.join(os.tmpdir(), 'wherry-test-'))));
  afterEach(() => removeTree(folder));

  it('counts all files in it, however deep, and follows no link out of it', async () => {
    await mkdir(path.join(folder, 'a/b'), { recursive: true });
    await writeFile(path.join(folder, 'a/b/c'), Buffer.alloc(1 << 20));
    await symlink('/usr', path.join(folder, 'l'));
    expect(await holdsMore(folder, { bytes: 2 << 20, entries: 100 })).toBe(false);
    await writeFile(path.join(folder, 'a/d'), Buffer.alloc(1 << 20));
    expect(await holdsMore(folder, { bytes: 2 << 20, entries: 100 })).toBe(true);
  });

  it('counts empty files, too', async () => {
    for (let index = 0; index < 5; index += 1) await writeFile(path.join(folder, String(index)), '');
    expect(await holdsMore(folder, { bytes: 1 << 20, entries: 5 })).toBe(false);
    expect(await holdsMore(folder, { bytes: 1 << 20, entries: 4 })).toBe(true);
  });

  it('finds too much where paths are too long to count what lies there', async () => {
    await makeDeepTree(folder, 1 << 20);
    expect(await holdsMore(folder, { bytes: 64 << 20, entries: 1000 })).toBe(true);
  });

  it('counts files below names that are not UTF-8', async () => {
    const odd = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]);
    await mkdir(odd);
    await writeFile(Buffer.concat([odd, Buffer.from('/file')]), Buffer.alloc(2 << 20));
    expect(await holdsMore(folder, { bytes: 1 << 20, entries: 10 })).toBe(true);
  });

  it('finds nothing in a folder that is gone', async () => {
    expect(await holdsMore(path.join(folder, 'gone'), { bytes: 0, entries: 0 })).toBe(false);
  });
});
