import { lstat, opendir } from 'node:fs/promises';

/** What a folder may hold; deleted files that are still open do not count. */
interface FolderLimit {
  bytes: number;
  /** Files and folders, so that checking stays cheap. */
  entries: number;
}

/**
 * Whether a folder, with all in it, holds more than the limit. One that disappears meanwhile does not; one with paths
 * that are too long for the system does, because nobody can say what lies there.
 */
export async function holdsMore(folder: string, limit: FolderLimit): Promise<boolean> {
  let [bytes, entries] = [0, 0];
  const over = (): boolean => bytes > limit.bytes || entries > limit.entries;
  // Paths are bytes: a handler's names need not be UTF-8. One folder is open at a time, however deep they go.
  const folders = [Buffer.from(folder)];

  async function count(at: Buffer): Promise<void> {
    for await (const entry of await opendir(at, { encoding: 'latin1' })) {
      const inner = Buffer.concat([at, Buffer.from(`/${entry.name}`, 'latin1')]);
      entries += 1;
      bytes += await sizeOf(inner);
      if (over()) return;
      if (entry.isDirectory()) folders.push(inner);
    }
  }

  for (let at = folders.pop(); at !== undefined && !over(); at = folders.pop())
    await count(at).catch((error: unknown) => (bytes += sizeUnread(error)));
  return over();
}

async function sizeOf(file: Buffer): Promise<number> {
  try {
    return (await lstat(file)).blocks * 512;
  } catch (error) {
    return sizeUnread(error);
  }
}

/** Its owner is changing it, or it is gone: the next check sees the rest. */
function sizeUnread(error: unknown): number {
  return (error as NodeJS.ErrnoException).code === 'ENAMETOOLONG' ? Infinity : 0;
}
