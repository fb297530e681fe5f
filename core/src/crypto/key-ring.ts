import { createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyRing } from '../ports/key-ring.ts';

/** Bytes of a master key. */
export const MASTER_KEY_BYTES = 32;
const MAX_VERSION = 0xffff_ffff;

/**
 * A ring of master keys that never changes. The secrets are copied.
 * @param current the version with which envelopes are made; by default the highest.
 * @throws RangeError when there is no key, one is not 32 bytes, a version is not a whole number from 1 or appears
 * twice, or the current version is not among them.
 */
export function createKeyRing(keys: { version: number; secret: Uint8Array }[], current?: number): KeyRing {
  const byVersion = new Map<number, KeyObject>();
  for (const { version, secret } of keys) {
    if (!Number.isInteger(version) || version < 1 || version > MAX_VERSION) {
      throw new RangeError(
        `the version of an encryption key (${version}) must be a whole number from 1 to ${MAX_VERSION}`,
      );
    }
    if (byVersion.has(version)) throw new RangeError(`encryption key version ${version} must appear only once`);
    if (secret.byteLength !== MASTER_KEY_BYTES) {
      throw new RangeError(
        `encryption key version ${version} must be ${MASTER_KEY_BYTES} bytes (it has ${secret.byteLength})`,
      );
    }
    byVersion.set(version, createSecretKey(secret));
  }
  if (byVersion.size === 0) throw new RangeError('there must be at least one encryption key');
  const version = current ?? Math.max(...byVersion.keys());
  const key = byVersion.get(version);
  if (key === undefined) throw new RangeError(`the current encryption key (version ${version}) must be in the ring`);
  return {
    current: () => ({ version, key }),
    get: (wanted) => byVersion.get(wanted),
    onChange: () => () => undefined,
  };
}
