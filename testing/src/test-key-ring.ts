import type { KeyObject } from 'node:crypto';
import { createDigestKey } from '@wherry/core/crypto/key-digest.ts';
import { createKeyRing, MASTER_KEY_BYTES } from '@wherry/core/crypto/key-ring.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';

/** A ring whose keys are the same in every test run. @param versions the last is the current one. */
export function testKeyRing(...versions: number[]): KeyRing {
  const wanted = versions.length === 0 ? [1] : versions;
  return createKeyRing(wanted.map((version) => ({ version, secret: new Uint8Array(MASTER_KEY_BYTES).fill(version) })));
}

/** A digest key that is the same in every test run. */
export function testDigestKey(): KeyObject {
  return createDigestKey(new Uint8Array(32).fill(7));
}
