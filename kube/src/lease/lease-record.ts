import { randomUUID } from 'node:crypto';
import { isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { KubeObject } from '../client/kube-object.ts';

/** On the Lease: `Lease.restores`. */
const RESTORES_ANNOTATION = 'wherry.dev/restores';

/** coordination.k8s.io/v1 Lease, as far as we use it. */
interface RawLease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    leaseTransitions?: number;
    acquireTime?: string;
    renewTime?: string;
  };
}

/** A Lease as it was read or written. */
export interface Lease {
  raw: RawLease;
  /** Changes with each write. */
  version: string;
  /** Empty for a released one. */
  holder: string;
  durationSeconds: number;
  /** How often the store was restored from a backup, as the replicas have counted. */
  restores: number;
  /** A write based on it was refused, or its outcome is unknown: read it again. */
  isStale?: boolean;
}

interface LeaseRecordOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  identity: string;
  clock: Clock;
  durationSeconds: number;
  timeoutMs: number;
}

/** Reads and writes one Lease; each write is refused (`conflict`) when another came first. */
export class LeaseRecord {
  /** The holder in the Lease when it is ours: a restarted pod must not mistake an earlier one for its own. */
  readonly identity: string;
  readonly #options: LeaseRecordOptions;
  readonly #path: string;

  constructor(options: LeaseRecordOptions) {
    this.#options = options;
    this.identity = `${options.identity}_${randomUUID()}`;
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
  }

  async read(): Promise<Lease | undefined> {
    try {
      return toLease(await this.#request('GET', `${this.#path}/${this.#options.name}`));
    } catch (error) {
      if (isDomainError(error, 'not_found')) return undefined;
      throw error;
    }
  }

  /** Makes it ours, or renews it, with that count. */
  async take(lease: Lease | undefined, restores: number): Promise<Lease> {
    const now = microTime(this.#options.clock.now());
    const own = { holderIdentity: this.identity, leaseDurationSeconds: this.#options.durationSeconds, renewTime: now };
    if (lease === undefined) {
      const spec = { ...own, acquireTime: now, leaseTransitions: 0 };
      const body = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: this.#options.name, annotations: annotationsOf(restores) },
        spec,
      };
      return toLease(await this.#request('POST', this.#path, body));
    }
    if (lease.holder === this.identity) return this.#write(lease, own, restores);
    return this.#write(
      lease,
      { ...own, acquireTime: now, leaseTransitions: (lease.raw.spec?.leaseTransitions ?? 0) + 1 },
      restores,
    );
  }

  /** Writes the count alone, whoever holds the Lease. */
  async count(lease: Lease, restores: number): Promise<Lease> {
    return this.#write(lease, {}, restores);
  }

  /** Releases it for the next candidate. */
  async release(lease: Lease): Promise<void> {
    await this.#write(lease, {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      renewTime: microTime(this.#options.clock.now()),
    });
  }

  async #write({ raw, restores: before }: Lease, spec: RawLease['spec'], restores = before): Promise<Lease> {
    const metadata = { ...raw.metadata, annotations: { ...raw.metadata.annotations, ...annotationsOf(restores) } };
    return toLease(
      await this.#request('PUT', `${this.#path}/${this.#options.name}`, {
        ...raw,
        metadata,
        spec: { ...raw.spec, ...spec },
      }),
    );
  }

  #request(method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<RawLease> {
    return this.#options.client.request({
      method,
      path,
      timeoutMs: this.#options.timeoutMs,
      ...(body !== undefined && { body }),
    });
  }
}

function toLease(raw: RawLease): Lease {
  return {
    raw,
    version: raw.metadata.resourceVersion,
    holder: raw.spec?.holderIdentity ?? '',
    durationSeconds: raw.spec?.leaseDurationSeconds ?? 0,
    restores: restoresOf(raw),
  };
}

/** Anything that is not a count counts as none. */
function restoresOf({ metadata: { annotations = {} } }: RawLease): number {
  const text = annotations[RESTORES_ANNOTATION] ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

function annotationsOf(restores: number): Record<string, string> {
  return restores === 0 ? {} : { [RESTORES_ANNOTATION]: String(restores) };
}

/** Kubernetes' MicroTime. */
function microTime(now: number): string {
  return new Date(now).toISOString().replace('Z', '000Z');
}
