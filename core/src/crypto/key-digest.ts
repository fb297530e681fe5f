import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';

/** Bytes of the secret of a digest key. */
export const DIGEST_KEY_BYTES = 32;

/**
 * The key of the digests by which routers know API keys: random, and not of the master ring.
 * @throws RangeError when the secret is not 32 bytes.
 */
export function createDigestKey(secret: Uint8Array): KeyObject {
  if (secret.byteLength !== DIGEST_KEY_BYTES) {
    throw new RangeError(`the digest key must be ${DIGEST_KEY_BYTES} bytes (it has ${secret.byteLength})`);
  }
  return createSecretKey(secret);
}

/** HMAC-SHA256 of a key's value, base64url. With a KeyObject: a raw Buffer as key is seven times as slow on Node 24. */
export function keyDigest(digestKey: KeyObject, value: string): string {
  return createHmac('sha256', digestKey).update(value).digest('base64url');
}

/** Compares two digests in a time that does not tell where they differ. */
export function sameDigest(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
