import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Linux takes paths of 4,095 bytes. */
const LONGEST_PATH = 4095;
const NAME = 'd'.repeat(200);

/** Fills a folder as a handler can: folders are moved into one another, so that there are files beyond every path. */
export async function makeDeepTree(folder: string, bytes = 1): Promise<void> {
  const [outer, inner] = [path.join(folder, 'outer'), path.join(folder, 'inner')];
  await writeFile(path.join(await makeDeepFolder(inner), 'file'), Buffer.alloc(bytes));
  for (let moves = 0; moves < 3; moves += 1) {
    await rename(inner, path.join(await makeDeepFolder(outer), 'i'));
    await rename(outer, inner);
  }
}

async function makeDeepFolder(folder: string): Promise<string> {
  let deepest = folder;
  // Room for the names of what comes into it.
  while (deepest.length + NAME.length + 1 < LONGEST_PATH - 10) deepest = path.join(deepest, NAME);
  await mkdir(deepest, { recursive: true });
  return deepest;
}
