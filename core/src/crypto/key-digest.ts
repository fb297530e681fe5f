import { createSecretKey, hash, timingSafeEqual, type KeyObject } from 'node:crypto';

/** Bytes of the secret of a digest key. */
const DIGEST_KEY_BYTES = 32;

/** Bytes of a block of SHA-256, to which HMAC pads a key (RFC 2104), and of its result. */
const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
/** Values of up to this many bytes are hashed in the buffer that holds the key already: longer than any API key. */
const ROOM_BYTES = 1024;
/** The most bytes that UTF-8 needs for one UTF-16 code unit. */
const UTF8_BYTES = 3;

/** What HMAC hashes for one key: the key's pads, each followed by room for the message. */
interface Pads {
  readonly inner: Buffer;
  readonly outer: Buffer;
}

/** So a key's secret is in memory a second time, for as long as its KeyObject. */
const padsByKey = new WeakMap<KeyObject, Pads>();

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

/**
 * HMAC-SHA256 of a key's value, base64url. It uses two one-shot hashes, because routers compute it for every word of a
 * call that could be a key: `createHmac` allocates an object outside the heap each time and costs several times as
 * much, most of it in the garbage collector.
 */
export function keyDigest(digestKey: KeyObject, value: string): string {
  const { inner, outer } = padsOf(digestKey);
  outer.write(innerHash(inner, value), BLOCK_BYTES, 'latin1');
  return hash('sha256', outer, 'base64url');
}

/** Compares two digests in a time that does not depend on where they differ. */
export function sameDigest(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

/** @returns a character for each byte: a Buffer would be another object outside of the heap. */
function innerHash(inner: Buffer, value: string): string {
  if (value.length * UTF8_BYTES > ROOM_BYTES) {
    return hash('sha256', Buffer.concat([inner.subarray(0, BLOCK_BYTES), Buffer.from(value)]), 'binary');
  }
  const end = BLOCK_BYTES + inner.write(value, BLOCK_BYTES);
  const digest = hash('sha256', inner.subarray(0, end), 'binary');
  // No API key stays in memory for longer than its call.
  inner.fill(0, BLOCK_BYTES, end);
  return digest;
}

function padsOf(digestKey: KeyObject): Pads {
  const known = padsByKey.get(digestKey);
  if (known !== undefined) return known;
  const secret = digestKey.export();
  const pads = { inner: pad(secret, 0x36, ROOM_BYTES), outer: pad(secret, 0x5c, HASH_BYTES) };
  padsByKey.set(digestKey, pads);
  return pads;
}

function pad(secret: Buffer, mask: number, room: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES + room);
  for (let at = 0; at < BLOCK_BYTES; at++) block[at] = (secret[at] ?? 0) ^ mask;
  return block;
}
