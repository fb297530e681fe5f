import { createHash, randomBytes } from 'node:crypto';

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * The `metadata.name` of an object whose names are unique: the name itself where it is a DNS label, else a slug and a
 * short hash. So of two concurrent creates of one name, the store refuses one.
 */
export function nameFor(...parts: string[]): string {
  const whole = parts.join('/');
  if (parts.length === 1 && LABEL.test(whole)) return whole;
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, 10);
  return `${slug(parts.at(-1) ?? '', 52)}-${hash}`;
}

/** A Function's `metadata.name`: display names need not be unique, so a random suffix distinguishes them. */
export function functionNameFor(displayName: string): string {
  const suffix = Array.from(randomBytes(6), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
  return `${slug(displayName, 40)}-${suffix}`;
}

function slug(text: string, limit: number): string {
  const cleaned = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, limit)
    .replace(/-+$/, '');
  return cleaned === '' ? 'x' : cleaned;
}
