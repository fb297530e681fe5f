import { X509Certificate } from 'node:crypto';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Listeners } from '@wherry/service/listeners.ts';
import { StartError } from '@wherry/service/start-error.ts';
import type { TlsMaterial } from '@wherry/service/tls/tls-files.ts';
import { ensureObject } from '../system-keys/ensure-object.ts';
import type { SystemObjects } from '@wherry/core/ports/system-objects.ts';
import {
  authoritiesData,
  bundleOf,
  issuerOf,
  needsSuccessor,
  parseAuthorities,
  stillNeeded,
  LIFETIMES,
  type Authority,
  type Lifetimes,
} from './authorities.ts';
import { issueCertificate } from './issue-certificate.ts';
import { isGood, issueLeaf, type LeafRequest } from './leaves.ts';

interface InternalCertificatesOptions {
  /** Of the system's namespace. */
  secrets: SystemObjects;
  /** Of the functions' namespace: their pods get the authorities to trust. */
  configMaps: SystemObjects<string>;
  /** Prefix of the objects' names. */
  name: string;
  systemNamespace: string;
  /** More names of the operator's and the manager's listeners, beside those of their Services. */
  hosts: { operator: string[]; manager: string[] };
  lifetimes?: Lifetimes;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
}

/** The internal authority and the certificates of operator, router and manager, as Secrets. */
export interface InternalCertificates {
  /**
   * Issues what is missing or due, and uses what another operator has issued. It can be called repeatedly: nothing is
   * written when nothing is due. @throws DomainError; StartError for an authority that cannot be read
   */
  upkeep(): Promise<void>;
  /** Milliseconds since 1970 UTC, by program; `authority`: of the newest one. Empty before the first `upkeep`. */
  expiries(): ReadonlyMap<string, number>;
  /** The operator's own. After the first `upkeep`. */
  current(): TlsMaterial;
  onChange(callback: (material: TlsMaterial) => void): () => void;
}

export function createInternalCertificates(options: InternalCertificatesOptions): InternalCertificates {
  const { name, configMaps, logger } = options;
  const listeners = new Listeners<[material: TlsMaterial]>((error) =>
    logger.error({ err: error }, 'a handler for new certificates threw'),
  );
  const leaves = leafRequests(options);
  const expiries = new Map<string, number>();
  let current: TlsMaterial | undefined;

  function take(material: TlsMaterial): void {
    const before = current;
    current = material;
    if (before === undefined || (before.cert === material.cert && before.ca === material.ca)) return;
    listeners.notify(material);
  }

  return {
    async upkeep() {
      const authorities = await keepAuthorities(options);
      const ca = bundleOf(authorities);
      await ensureObject(configMaps, `${name}-feed-ca`, (data) => (data?.['ca.crt'] === ca ? data : { 'ca.crt': ca }));
      const newest = authorities.at(-1);
      if (newest !== undefined) expiries.set('authority', expiryOf(newest.certificate));
      for (const leaf of leaves) {
        const material = await keepLeaf(options, leaf, authorities);
        expiries.set(leaf.program, expiryOf(material.cert));
        if (leaf.program === 'operator') take(material);
      }
    },
    expiries: () => expiries,
    current() {
      if (current === undefined) throw new Error('there is no certificate before the first upkeep');
      return current;
    },
    onChange: (callback) => listeners.add(callback),
  };
}

const expiryOf = (certificate: string): number => new X509Certificate(certificate).validToDate.getTime();

function leafRequests({ name, systemNamespace, hosts }: InternalCertificatesOptions): LeafRequest[] {
  const service = (part: string): string[] => [
    `${name}-${part}`,
    `${name}-${part}.${systemNamespace}`,
    `${name}-${part}.${systemNamespace}.svc`,
    `${name}-${part}.${systemNamespace}.svc.cluster.local`,
  ];
  return [
    { program: 'operator', uses: ['server', 'client'], names: unique([...service('feed'), ...hosts.operator]) },
    { program: 'router', uses: ['client'], names: [] },
    { program: 'manager', uses: ['server'], names: unique([...service('manager'), ...hosts.manager]) },
  ];
}

const unique = (names: string[]): string[] => [...new Set(names)];

/** @returns the active authorities, oldest first. */
async function keepAuthorities(options: InternalCertificatesOptions): Promise<Authority[]> {
  const { secrets, name, systemNamespace, clock, logger, lifetimes = LIFETIMES } = options;
  const secretName = `${name}-internal-ca`;
  const parse = (data: Record<string, Buffer>): Authority[] => {
    try {
      return parseAuthorities(data);
    } catch (error) {
      throw new StartError(
        `The Secret ${systemNamespace}/${secretName} cannot be read (${(error as Error).message}): restore it; or delete it and restart the router and the manager, to get a new certificate authority.`,
      );
    }
  };
  const now = clock.now();
  const data = await ensureObject(secrets, secretName, async (before) => {
    const authorities = before === undefined ? [] : parse(before);
    const grown = needsSuccessor(authorities, now)
      ? [...authorities, await newAuthority(authorities, now, lifetimes)]
      : authorities;
    const kept = stillNeeded(grown, now, lifetimes);
    if (before !== undefined && kept.length === authorities.length && grown === authorities) return before;
    logger.info({ authorities: kept.map(({ number }) => number) }, 'the internal certificate authorities have changed');
    return authoritiesData(kept);
  });
  return parse(data);
}

async function newAuthority(known: Authority[], now: number, { authorityMs }: Lifetimes): Promise<Authority> {
  const number = (known.at(-1)?.number ?? 0) + 1;
  const request = {
    commonName: `wherry internal authority ${number}`,
    purpose: 'authority',
    names: [],
    notBefore: now,
    notAfter: now + authorityMs,
  } as const;
  return { number, ...(await issueCertificate({ ...request, names: [] })) };
}

async function keepLeaf(
  options: InternalCertificatesOptions,
  leaf: LeafRequest,
  authorities: Authority[],
): Promise<TlsMaterial> {
  const { secrets, name, clock, logger, lifetimes = LIFETIMES } = options;
  const secretName = `${name}-${leaf.program}-tls`;
  const now = clock.now();
  const ca = bundleOf(authorities);
  const issuer = issuerOf(authorities, now, lifetimes);
  const data = await ensureObject(secrets, secretName, async (before) => {
    if (before !== undefined && isGood(leafOf(before), leaf, authorities, now)) {
      return before['ca.crt']?.toString('utf8') === ca ? before : { ...before, 'ca.crt': Buffer.from(ca) };
    }
    if (issuer === undefined) throw new Error(`no internal authority can issue the certificate of ${leaf.program}`);
    const fresh = await issueLeaf(leaf, issuer, now, lifetimes);
    logger.info({ program: leaf.program, authority: issuer.number }, 'issued a certificate');
    return { 'tls.crt': Buffer.from(fresh.certificate), 'tls.key': Buffer.from(fresh.key), 'ca.crt': Buffer.from(ca) };
  });
  const { certificate: cert, key } = leafOf(data);
  return { ca, cert, key };
}

function leafOf(data: Record<string, Buffer>): { certificate: string; key: string } {
  return { certificate: data['tls.crt']?.toString('utf8') ?? '', key: data['tls.key']?.toString('utf8') ?? '' };
}
