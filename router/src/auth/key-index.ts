import type { KeyObject } from 'node:crypto';
import { createDigestKey, keyDigest, sameDigest } from '@wherry/core/crypto/key-digest.ts';
import type { RouterKey } from '@wherry/core/feed/messages.ts';

/** The usable API keys by digest; no key value is ever stored. */
export class KeyIndex {
  readonly #digestKey: KeyObject;
  readonly #keys = new Map<string, RouterKey>();

  /** @param digestKey 32 bytes, base64url, as the feed gives it. @throws RangeError when it is not. */
  constructor(digestKey: string, keys: readonly RouterKey[] = []) {
    this.#digestKey = createDigestKey(Buffer.from(digestKey, 'base64url'));
    for (const key of keys) this.set(key);
  }

  set(key: RouterKey): void {
    this.#keys.set(key.digest, key);
  }

  delete(digest: string): void {
    this.#keys.delete(digest);
  }

  /** The key with this value: looked up by its digest, and confirmed in constant time. */
  find(value: string): RouterKey | undefined {
    const digest = keyDigest(this.#digestKey, value);
    const key = this.#keys.get(digest);
    return key !== undefined && sameDigest(key.digest, digest) ? key : undefined;
  }
}
