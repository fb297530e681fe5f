import { randomBytes } from 'node:crypto';
import { z } from 'zod';

/** What every key's value looks like. */
export const KEY_VALUE = /^[a-zA-Z0-9_-]{16,256}$/;

/** A key's value that a person brings along. */
export const keyValueSchema = z.string().regex(KEY_VALUE, 'must be 16 to 256 letters, digits, dashes and underscores');

/** A new key's value: `wh_` and 43 base64url characters of 256 random bits. */
export function generateKeyValue(): string {
  return `wh_${randomBytes(32).toString('base64url')}`;
}
