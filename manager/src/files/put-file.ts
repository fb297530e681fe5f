import { isDomainError } from '@wherry/core/errors.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { tooLarge } from './upload-part.ts';

/** A file whose content is a blob. `size` in bytes. */
export interface Stored {
  digest: Digest;
  size: number;
}

/**
 * Stores a file; the error for one that is too large names the setting. Errors of the byte stream itself are passed on.
 */
export async function putFile(content: ContentStore, bytes: AsyncIterable<Uint8Array>, limit: number): Promise<Stored> {
  let failure: unknown;
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes;
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  try {
    return await content.put(watched(), limit);
  } catch (error) {
    // The limit of a whole upload ends the bytes of one of its files.
    if (isDomainError(failure)) throw failure;
    if (isDomainError(error, 'too_large')) throw tooLarge(limit);
    throw error;
  }
}
