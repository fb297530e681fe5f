import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { removeTree } from './remove-tree.ts';
import { makeDeepTree } from './testing/deep-tree.ts';

describe('removeTree', () => {
  let parent: string;
  let folder: string;
  beforeEach(async () => {
    parent = await mkdtemp(path.join(os.tmpdir(), 'wherry-test-'));
    folder = path.join(parent, 'tree');
    await mkdir(folder);
  });
  afterEach(() => rm(parent, { recursive: true, force: true }));

  it('removes folders beyond the longest path that the system takes', async () => {
    await makeDeepTree(folder);
    await removeTree(folder);
    expect(existsSync(folder)).toBe(false);
  });

  it('removes names that are not UTF-8, and follows no link', async () => {
    const outside = path.join(parent, 'outside');
    await mkdir(outside);
    const odd = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]);
    await mkdir(odd);
    await symlink(outside, Buffer.concat([odd, Buffer.from('/link')]));
    await makeDeepTree(folder);
    await removeTree(folder);
    expect([existsSync(folder), existsSync(outside)]).toEqual([false, true]);
  });

  it('does not mind a folder that is not there, nor a file in its place', async () => {
    await removeTree(path.join(parent, 'never-was'));
    const file = path.join(parent, 'file');
    await writeFile(file, '');
    await removeTree(file);
    expect(existsSync(file)).toBe(false);
  });
});
