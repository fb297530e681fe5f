import { gzipSync } from 'node:zlib';
import { Header, type HeaderData } from 'tar/header';

export interface TarEntry extends HeaderData {
  path: string;
  content?: string | Uint8Array;
}

/** A tar archive with entries as they are given, hostile ones too. */
export function makeTar(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap(({ content = '', ...entry }) => {
    const body = Buffer.from(content);
    const header = new Header({ type: 'File', mode: 0o644, mtime: new Date(0), size: body.length, ...entry });
    const block = Buffer.alloc(512);
    header.encode(block);
    return [block, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** Entries by name in the package; a link by `-> target`. */
export type PackageContents = Record<string, string | Uint8Array>;

/** An npm tarball, gzip. */
export function makeTarball(files: PackageContents): Buffer {
  const entries = Object.entries(files).map(([name, content]) => {
    const path = `package/${name}`;
    return typeof content === 'string' && content.startsWith('-> ')
      ? { path, type: 'SymbolicLink' as const, linkpath: content.slice(3) }
      : { path, content };
  });
  return gzipSync(makeTar(entries));
}
