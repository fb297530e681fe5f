import { X509Certificate, createPrivateKey } from 'node:crypto';
import { isIP } from 'node:net';
import { isDue, type Authority, type Lifetimes } from './authorities.ts';
import { issueCertificate, type IssuedCertificate } from './issue-certificate.ts';

/** A program's certificate. */
export interface LeafRequest {
  /** The identity that it proves: its common name. */
  program: 'operator' | 'router' | 'manager';
  uses: ('server' | 'client')[];
  names: string[];
}

export async function issueLeaf(
  { program, uses, names }: LeafRequest,
  issuer: Authority,
  now: number,
  { leafMs }: Lifetimes,
): Promise<IssuedCertificate> {
  const end = Date.parse(new X509Certificate(issuer.certificate).validTo);
  const notAfter = Math.min(now + leafMs, end);
  return issueCertificate({ commonName: program, purpose: uses, names, notBefore: now, notAfter }, issuer);
}

/**
 * Whether a certificate can stay in use: it is complete, its authority is still trusted, it has the requested names,
 * and it has not reached two thirds of its lifetime.
 */
export function isGood(
  leaf: IssuedCertificate,
  { names }: LeafRequest,
  authorities: Authority[],
  now: number,
): boolean {
  try {
    const certificate = new X509Certificate(leaf.certificate);
    const issuer = authorities
      .map((authority) => new X509Certificate(authority.certificate))
      .find((one) => certificate.verify(one.publicKey));
    const isWhole = issuer !== undefined && certificate.checkPrivateKey(createPrivateKey(leaf.key));
    const named = names.every(
      (name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined,
    );
    return isWhole && named && !isDue(leaf.certificate, now);
  } catch {
    // No certificate, or no key.
    return false;
  }
}
