import { lstat, opendir } from 'node:fs/promises';
import path from 'node:path';

/** What a folder may hold; what stays open after it was deleted does not count. */
interface FolderLimit {
  bytes: number;
  /** Files and folders, so that looking stays cheap. */
  entries: number;
}

/** Whether a folder, with all in it, holds more than the limit. One that goes meanwhile does not. */
export async function holdsMore(folder: string, limit: FolderLimit): Promise<boolean> {
  let [bytes, entries] = [0, 0];
  const over = (): boolean => bytes > limit.bytes || entries > limit.entries;

  async function walk(at: string): Promise<void> {
    for await (const entry of await opendir(at)) {
      const name = path.join(at, entry.name);
      entries += 1;
      bytes += (await lstat(name)).blocks * 512;
      if (over()) return;
      if (entry.isDirectory()) await walk(name);
    }
  }

  try {
    await walk(folder);
  } catch {
    // Its owner is at work in it, or it is gone: what was counted until then stands, and the next look sees the rest.
  }
  return over();
}
