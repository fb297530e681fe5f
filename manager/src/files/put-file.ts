import { isDomainError } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { tooLarge } from './upload-part.ts';

/** A file whose content is a blob. `size` in bytes. */
export interface Stored {
  digest: Digest;
  size: number;
}

/** Stores a file, and says in the setting's words when it is too large. */
export async function putFile(
  content: ContentStore,
  bytes: AsyncIterable<Uint8Array> | Uint8Array,
  limit: number,
): Promise<Stored> {
  try {
    return await content.put(bytes, limit);
  } catch (error) {
    if (isDomainError(error, 'too_large')) throw tooLarge(limit);
    throw error;
  }
}
