import { createHash, timingSafeEqual } from 'node:crypto';

/** From strong to weak. SHA-1 and MD5 prove nothing any more. */
const ALGORITHMS = { sha512: 64, sha384: 48, sha256: 32 } as const;
type Algorithm = keyof typeof ALGORITHMS;

/**
 * The strongest hash of a subresource integrity text, in one spelling, or undefined when none is strong enough. Options
 * (`?…`) are dropped; of several hashes of one kind, the first is taken.
 */
export function strongestIntegrity(text: string): string | undefined {
  const hashes = text
    .trim()
    .split(/\s+/)
    .map((hash) => hash.replace(/\?.*$/s, ''));
  return (Object.keys(ALGORITHMS) as Algorithm[]).flatMap((algorithm) => {
    const hash = hashes.find((one) => one.startsWith(`${algorithm}-`));
    return hash !== undefined && isDigest(algorithm, hash.slice(algorithm.length + 1)) ? [hash] : [];
  })[0];
}

/** Whether the bytes are those that the integrity names. An integrity without a usable hash matches nothing. */
export function matchesIntegrity(bytes: Uint8Array, integrity: string): boolean {
  const known = strongestIntegrity(integrity);
  if (known === undefined) return false;
  const [algorithm = '', digest = ''] = known.split(/-(.*)/s);
  return timingSafeEqual(createHash(algorithm).update(bytes).digest(), Buffer.from(digest, 'base64'));
}

const isDigest = (algorithm: Algorithm, base64: string): boolean => {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length === ALGORITHMS[algorithm] && bytes.toString('base64') === base64;
};
