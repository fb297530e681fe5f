import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

/** Entries by name in the package; a link by `-> target`. */
export type PackageContents = Record<string, string | Uint8Array>;

/** An npm tarball, gzip. */
export async function makeTarball(files: PackageContents): Promise<Buffer> {
  const tar = pack();
  for (const [path, content] of Object.entries(files)) {
    const name = `package/${path}`;
    if (typeof content === 'string' && content.startsWith('-> ')) tar.entry({ name, type: 'symlink', linkname: content.slice(3) });
    else tar.entry({ name }, Buffer.from(content));
  }
  tar.finalize();
  return gzipSync(await buffer(tar));
}
