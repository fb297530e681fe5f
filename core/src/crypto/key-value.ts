import { randomBytes } from 'node:crypto';
import { z } from 'zod';

/** Each character of a key's value. */
export const KEY_CHARACTER = /[a-zA-Z0-9_-]/;

/** Characters of the shortest and of the longest key. */
export const KEY_MIN_LENGTH = 16;
export const KEY_MAX_LENGTH = 256;

/** The form of every key value. */
export const KEY_VALUE = new RegExp(`^${KEY_CHARACTER.source}{${KEY_MIN_LENGTH},${KEY_MAX_LENGTH}}$`);

/** A key value that a person chooses. */
export const keyValueSchema = z.string().regex(KEY_VALUE, 'must be 16 to 256 letters, digits, dashes and underscores');

/** A new key's value: `wh_` and 43 base64url characters of 256 random bits. */
export function generateKeyValue(): string {
  return `wh_${randomBytes(32).toString('base64url')}`;
}
