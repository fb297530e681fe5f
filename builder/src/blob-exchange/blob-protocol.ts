import type { BuildRequest } from '@wherry/core/ports/builder.ts';
import { z } from 'zod';

/*
 * How builds read blobs: the build process requests them from the service over its pipe, and the builder from the
 * operator over its socket. A request names a blob by its hash; the answer is the blob, or that there is none. Both
 * sides know which hashes a build may name: `BlobRequests` sends no request for another one, and `BlobResponder` ends
 * the connection of a peer that sends one.
 */

/** The digest of a file or of a lock, or a tarball's integrity. */
const hash = z.string().max(512);

export const blobRequestSchema = z.strictObject({ type: z.literal('blob'), hash });
export type BlobRequest = z.infer<typeof blobRequestSchema>;

export const blobAnswerSchemas = [
  z.strictObject({ type: z.literal('blob'), hash, base64: z.string() }),
  z.strictObject({ type: z.literal('noBlob'), hash }),
] as const;
export type BlobAnswer = z.infer<(typeof blobAnswerSchemas)[number]>;

/**
 * The digests that a request names, each with whether the build can do without it: a lock that is gone is resolved
 * again.
 */
export function blobsOf({ trees, locks }: BuildRequest): Map<string, { optional: boolean }> {
  const blobs = new Map<string, { optional: boolean }>();
  for (const known of locks?.values() ?? []) for (const { lock } of known) blobs.set(lock, { optional: true });
  for (const { files } of trees.values()) for (const { digest } of files) blobs.set(digest, { optional: false });
  return blobs;
}
