import { X509Certificate } from 'node:crypto';
import type { IssuedCertificate } from './issue-certificate.ts';

/** How long certificates are valid, in milliseconds. */
export interface Lifetimes {
  authorityMs: number;
  leafMs: number;
  /** How long a new authority is in every bundle before anything is issued from it. */
  joinMs: number;
}

const DAY_MS = 86_400_000;
export const LIFETIMES: Lifetimes = { authorityMs: 730 * DAY_MS, leafMs: 90 * DAY_MS, joinMs: DAY_MS };

/** The part of the lifetime that is left when a successor is created: a third. */
const RENEW_AT = 2 / 3;

/** An authority of the internal CA, with its number: they follow one another. */
export interface Authority extends IssuedCertificate {
  number: number;
}

/**
 * In a Secret: `<number>.crt` and `<number>.key` of each. Oldest first.
 * @throws Error for a part that is missing or not a certificate.
 */
export function parseAuthorities(data: Record<string, Buffer>): Authority[] {
  const numbers = Object.keys(data).flatMap((key) => /^(\d+)\.crt$/.exec(key)?.[1] ?? []);
  return numbers
    .map(Number)
    .sort((a, b) => a - b)
    .map((number) => {
      const [certificate, key] = [
        data[`${number}.crt`]?.toString('utf8') ?? '',
        data[`${number}.key`]?.toString('utf8') ?? '',
      ];
      if (!new X509Certificate(certificate).ca || key === '')
        throw new Error(`${number}.crt is not a certificate authority, or its key is missing`);
      return { number, certificate, key };
    });
}

export function authoritiesData(authorities: Authority[]): Record<string, Buffer> {
  return Object.fromEntries(
    authorities.flatMap(({ number, certificate, key }) => [
      [`${number}.crt`, Buffer.from(certificate)],
      [`${number}.key`, Buffer.from(key)],
    ]),
  );
}

/** Whether the newest one has reached two thirds of its lifetime, so that a successor is needed. Pure. */
export function needsSuccessor(authorities: Authority[], now: number): boolean {
  const newest = authorities.at(-1);
  return newest === undefined || isDue(newest.certificate, now);
}

/**
 * Drops authorities of which no certificate can be active any more: expired, or replaced for longer than the lifetime
 * of a leaf. Pure.
 */
export function stillNeeded(authorities: Authority[], now: number, { joinMs, leafMs }: Lifetimes): Authority[] {
  return authorities.filter(({ certificate }, at) => {
    const successor = authorities[at + 1];
    if (successor === undefined) return true;
    if (Date.parse(new X509Certificate(certificate).validTo) <= now) return false;
    return now < bornAt(successor.certificate) + joinMs + leafMs;
  });
}

/** The newest authority that every bundle has contained for long enough; a single one issues at once. Pure. */
export function issuerOf(authorities: Authority[], now: number, { joinMs }: Lifetimes): Authority | undefined {
  const joined = authorities.filter(({ certificate }) => bornAt(certificate) + joinMs <= now);
  return joined.at(-1) ?? authorities[0];
}

/** All authorities that must be trusted. */
export function bundleOf(authorities: Authority[]): string {
  return authorities.map(({ certificate }) => certificate).join('');
}

/** Whether a certificate has reached two thirds of its lifetime. */
export function isDue(certificate: string, now: number): boolean {
  const end = Date.parse(new X509Certificate(certificate).validTo);
  return now >= bornAt(certificate) + (end - bornAt(certificate)) * RENEW_AT;
}

function bornAt(certificate: string): number {
  return Date.parse(new X509Certificate(certificate).validFrom);
}
