import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, type KeyObject } from 'node:crypto';
import { invalid } from '../errors.ts';
import type { KeyRing } from '../ports/key-ring.ts';
import { EnvelopeError } from './envelope-error.ts';

/*
 * An envelope is `wherry1.` (magic and format) and base64url, without padding, of
 *
 *   key version   4 bytes, big-endian
 *   salt         32 bytes
 *   nonce        12 bytes
 *   ciphertext    as long as the plaintext in UTF-8
 *   tag          16 bytes
 *
 * AES-256-GCM under a record key of its own: HKDF-SHA256(master key of that version, salt, purpose). So a random nonce
 * is never used twice with the same key, however many records there are.
 */
const FORMAT = 1;
const PREFIX = `wherry${FORMAT}.`;
const PURPOSE = 'wherry envelope record key';
const VERSION_BYTES = 4;
const SALT_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = VERSION_BYTES + SALT_BYTES + NONCE_BYTES;
const KEY_BYTES = 32;

/** Where an envelope belongs; anywhere else it cannot be decrypted (E2). */
export interface EnvelopeBinding {
  kind: string;
  namespace: string;
  /** `metadata.name` of the object. */
  name: string;
  /** Path of the field in the object: `spec.value`. */
  field: string;
}

/**
 * Encrypts a confidential value for one field, under the ring's current key.
 * @throws DomainError `validation_failed` for a lone surrogate: UTF-8 cannot represent such a string.
 */
export function seal(keyRing: KeyRing, binding: EnvelopeBinding, plaintext: string): string {
  if (!plaintext.isWellFormed()) throw invalid('The value must be well-formed Unicode.');
  const { version, key } = keyRing.current();
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(version);
  randomBytes(SALT_BYTES + NONCE_BYTES).copy(head, VERSION_BYTES);
  const cipher = createCipheriv('aes-256-gcm', recordKey(key, head), nonceOf(head), { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(binding, version));
  const ciphertext = cipher.update(plaintext, 'utf8');
  cipher.final();
  return PREFIX + Buffer.concat([head, ciphertext, cipher.getAuthTag()]).toString('base64url');
}

/**
 * Decrypts what `seal` made for this field.
 * @throws EnvelopeError, without revealing a byte of the plaintext (E3).
 */
export function open(keyRing: KeyRing, binding: EnvelopeBinding, envelope: string): string {
  const bytes = decode(envelope);
  const head = bytes.subarray(0, HEAD_BYTES);
  const version = head.readUInt32BE();
  const key = keyRing.get(version);
  if (key === undefined)
    throw new EnvelopeError('unknown_key', `needs encryption key version ${version}, which is not in the key ring`);
  const decipher = createDecipheriv('aes-256-gcm', recordKey(key, head), nonceOf(head), { authTagLength: TAG_BYTES });
  decipher.setAAD(additionalData(binding, version));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  const plaintext = decipher.update(bytes.subarray(HEAD_BYTES, bytes.length - TAG_BYTES));
  try {
    decipher.final();
  } catch {
    plaintext.fill(0);
    throw new EnvelopeError('not_authentic', 'was changed, or sealed for another object, field, namespace or key ring');
  }
  return plaintext.toString('utf8');
}

/**
 * The key version that an envelope needs.
 * @throws EnvelopeError for what is not an envelope of this format.
 */
export function envelopeVersion(envelope: string): number {
  return decode(envelope).readUInt32BE();
}

function decode(envelope: string): Buffer {
  if (!envelope.startsWith(PREFIX)) {
    const known = /^wherry\d+\./.test(envelope);
    throw new EnvelopeError(
      known ? 'unknown_format' : 'malformed',
      known ? 'has a format that this version does not support' : 'is not an envelope',
    );
  }
  const text = envelope.slice(PREFIX.length);
  const bytes = Buffer.from(text, 'base64url');
  // Buffer.from ignores invalid characters and the last character's spare bits: accept only one text for the same
  // bytes.
  if (bytes.toString('base64url') !== text) throw new EnvelopeError('malformed', 'is not base64url');
  if (bytes.length < HEAD_BYTES + TAG_BYTES) throw new EnvelopeError('malformed', 'is truncated');
  return bytes;
}

function recordKey(master: KeyObject, head: Buffer): Buffer {
  const salt = head.subarray(VERSION_BYTES, VERSION_BYTES + SALT_BYTES);
  return Buffer.from(hkdfSync('sha256', master, salt, PURPOSE, KEY_BYTES));
}

function nonceOf(head: Buffer): Buffer {
  return head.subarray(VERSION_BYTES + SALT_BYTES, HEAD_BYTES);
}

/** JSON of an array of strings and numbers: no two bindings have the same bytes, whatever characters they hold. */
function additionalData(binding: EnvelopeBinding, version: number): Buffer {
  return Buffer.from(JSON.stringify([FORMAT, binding.kind, binding.namespace, binding.name, binding.field, version]));
}
