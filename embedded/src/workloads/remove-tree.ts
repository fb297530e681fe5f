import { randomUUID } from 'node:crypto';
import { opendir, rename, rm } from 'node:fs/promises';
import path from 'node:path';

/** Linux takes paths of 4,095 bytes. Folders whose path is longer than this are moved up. */
const LONGEST_PATH = 2048;

/**
 * Removes a folder with everything in it, if it exists. A handler can move folders into one another until the paths in
 * them are longer than any that the system takes: `rm` fails there, so such folders are moved up first.
 */
export async function removeTree(root: string): Promise<void> {
  try {
    await rm(root, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENAMETOOLONG') throw error;
    await shortenPaths(root);
    await rm(root, { recursive: true, force: true });
  }
}

/** Paths are bytes here: a handler's names need not be UTF-8. */
async function shortenPaths(root: string): Promise<void> {
  const folders = [Buffer.from(root)];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const entry of await opendir(folder, { encoding: 'latin1' })) {
      if (!entry.isDirectory()) continue;
      const inner = Buffer.concat([folder, Buffer.from(`/${entry.name}`, 'latin1')]);
      if (inner.length <= LONGEST_PATH) folders.push(inner);
      else {
        const moved = Buffer.from(path.join(root, randomUUID()));
        await rename(inner, moved);
        folders.push(moved);
      }
    }
  }
}
