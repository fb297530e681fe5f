import type { BuildInput } from '@wherry/core/ports/builder.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import type { BuildOrder } from '../build-process/protocol.ts';

/** The sources as folders of one virtual root: `<source>/<path>`. No other file exists for a build. */
export interface SourceFiles {
  hasSource(source: string): boolean;
  has(file: string): boolean;
  /** Whether a source, or a folder of one, has this path. */
  hasFolder(path: string): boolean;
  /** A file whose path differs only in case. */
  otherCase(file: string): string | undefined;
  /** Bytes, from the manifest. */
  sizeOf(file: string): number;
  /** Requests the file from the service, and records it as an input. */
  read(file: string): Promise<Buffer>;
  /** The files that were read so far, in order of their names. */
  inputs(): BuildInput[];
}

/** @param fetchBlob resolves with the bytes of a digest. */
export function sourceFiles(trees: BuildOrder['trees'], fetchBlob: (digest: Digest) => Promise<Buffer>): SourceFiles {
  const files = new Map<string, BuildInput & { size: number }>(
    Object.entries(trees).flatMap(([source, tree]) =>
      Object.entries(tree).map(
        ([path, [digest, size]]) => [`${source}/${path}`, { source, path, digest, size }] as const,
      ),
    ),
  );
  const sources = new Set(Object.keys(trees));
  const reached = new Map<string, BuildInput>();
  return {
    hasSource: (source) => sources.has(source),
    has: (file) => files.has(file),
    hasFolder: (path) => sources.has(path) || [...files.keys()].some((name) => name.startsWith(`${path}/`)),
    otherCase(file) {
      const wanted = file.toLowerCase();
      return [...files.keys()].find((name) => name !== file && name.toLowerCase() === wanted);
    },
    sizeOf: (file) => files.get(file)?.size ?? 0,
    async read(file) {
      const entry = files.get(file);
      if (entry === undefined) throw new Error('a file that is in no tree was requested');
      const { source, path, digest } = entry;
      reached.set(file, { source, path, digest });
      return fetchBlob(digest);
    },
    inputs: () => [...reached].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, input]) => input),
  };
}
