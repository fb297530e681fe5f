import { createHash } from 'node:crypto';
import { z } from 'zod';
import { digestSchema, type Digest } from '../resources/meta.ts';

const treeEntrySchema = z.strictObject({
  /** Relative, `/`-separated, as `file-path.ts` takes it. */
  path: z.string().min(1).max(1024),
  digest: digestSchema,
  /** Bytes. */
  size: z.int().min(0),
  /** Whether the file may be executed (git's 100755). */
  executable: z.boolean().optional(),
  /** Milliseconds since 1970 UTC. */
  mtime: z.int().min(0),
});
export type TreeEntry = z.infer<typeof treeEntrySchema>;

/** One immutable state of a source: its files, sorted by path. Stored as a blob; the blob's digest names the tree. */
export const treeManifestSchema = z.strictObject({ files: z.array(treeEntrySchema).max(20_000) });
export type TreeManifest = z.infer<typeof treeManifestSchema>;

export const EMPTY_TREE: TreeManifest = { files: [] };

/** SHA-256 of bytes, lowercase hexadecimal. */
export function sha256(bytes: Uint8Array | string): Digest {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The manifest's canonical bytes (sorted by code point, fixed key order) and their digest. */
export function encodeTree(manifest: TreeManifest): { bytes: Buffer; digest: Digest } {
  const files = [...manifest.files]
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, digest, size, executable, mtime }) => ({
      path,
      digest,
      size,
      ...(executable === true ? { executable } : {}),
      mtime,
    }));
  const bytes = Buffer.from(JSON.stringify({ files }));
  return { bytes, digest: sha256(bytes) };
}

/** @throws SyntaxError or ZodError when the bytes are not a manifest. */
export function decodeTree(bytes: Uint8Array): TreeManifest {
  return treeManifestSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
}
