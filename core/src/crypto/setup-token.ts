import { randomBytes } from 'node:crypto';
import { z } from 'zod';

/** The token with which the first user is created (M1). */
export const setupTokenSchema = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{16,256}$/, 'must be 16 to 256 letters, digits, dashes and underscores');

/** A new one, of 256 random bits. */
export function generateSetupToken(): string {
  return randomBytes(32).toString('base64url');
}
