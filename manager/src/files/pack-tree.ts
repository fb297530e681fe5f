import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { TreeEntry } from '@wherry/core/trees/tree.ts';

/**
 * The files as a compressed tar, read as it is sent: no file is in memory as a whole. Its error is that of the content
 * store.
 */
export function packTree(files: readonly TreeEntry[], content: Pick<ContentStore, 'open'>): Readable {
  const tar = pack();
  const packed = createGzip();
  const writing = async (): Promise<void> => {
    for (const { path, digest, size, executable, mtime } of files) {
      const header = { name: path, size, mode: executable === true ? 0o755 : 0o644, mtime: new Date(mtime) };
      await pipeline(Readable.from(await content.open(digest), { objectMode: false }), tar.entry(header));
    }
    tar.finalize();
  };
  const fail = (error: unknown): void => void packed.destroy(error instanceof Error ? error : undefined);
  // When the reader disconnects, the pack stream is destroyed, and with it the file that is being read.
  pipeline(tar, packed).catch(fail);
  writing().catch(fail);
  return packed;
}
