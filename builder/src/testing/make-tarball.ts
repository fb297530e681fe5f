import { gzipSync } from 'node:zlib';
import { makeTar } from '../packages/testing/make-tarball.ts';

/** Entries by name in the package; a link by `-> target`. */
export type PackageContents = Record<string, string | Uint8Array>;

/** An npm tarball, gzip. */
export async function makeTarball(files: PackageContents): Promise<Buffer> {
  const entries = Object.entries(files).map(([name, content]) => {
    const path = `package/${name}`;
    return typeof content === 'string' && content.startsWith('-> ')
      ? { path, type: 'SymbolicLink' as const, linkpath: content.slice(3) }
      : { path, content };
  });
  return gzipSync(makeTar(entries));
}
