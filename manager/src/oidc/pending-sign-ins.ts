import { randomBytes } from 'node:crypto';
import type { Clock } from '@wherry/core/ports/clock.ts';
import { networkOf } from '@wherry/service/network-of.ts';
import type { SignInChecks } from './identity-provider.ts';

/** How long a person may take at the provider. */
export const PENDING_SECONDS = 600;
/** In all, and of one network; beyond it the oldest one of the network that has the most, or of this one, is forgotten. */
const MAX_PENDING = { all: 10_000, ofNetwork: 200 };
/** 256 random bits. */
const ID_BYTES = 32;

/** A sign-in that a browser has begun. */
export interface PendingSignIn {
  checks: SignInChecks;
  /** Where the provider sends the browser back to. */
  redirectUri: string;
  /** Where the browser goes once it is signed in: a path of this origin. */
  to: string;
}

interface Entry extends PendingSignIn {
  network: string;
  endsAt: number;
}

/** Sign-ins that have begun, by the id in the cookie of the browser that began them. Each is taken once. */
export class PendingSignIns {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The oldest one first. */
  readonly #entries = new Map<string, Entry>();
  readonly #counts = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** @param address of the caller. @returns the new id, which nobody can guess. */
  add(pending: PendingSignIn, address: string): string {
    const now = this.#clock.monotonic();
    const network = networkOf(address);
    for (const [id, { endsAt }] of this.#entries) {
      if (endsAt > now) break;
      this.take(id);
    }
    if ((this.#counts.get(network) ?? 0) >= MAX_PENDING.ofNetwork) this.#forgetOldest(network);
    else if (this.#entries.size >= MAX_PENDING.all) this.#forgetOldest(this.#largest());
    const id = randomBytes(ID_BYTES).toString('base64url');
    this.#entries.set(id, { ...pending, network, endsAt: now + PENDING_SECONDS * 1000 });
    this.#counts.set(network, (this.#counts.get(network) ?? 0) + 1);
    return id;
  }

  /** The sign-in, which stays pending; undefined for an unknown id, one that was taken and one that is over. */
  find(id: string | undefined): PendingSignIn | undefined {
    const entry = id === undefined ? undefined : this.#entries.get(id);
    return entry !== undefined && entry.endsAt > this.#clock.monotonic() ? entry : undefined;
  }

  /** The sign-in that is no longer pending; undefined for an unknown id, one that was taken and one that is over. */
  take(id: string | undefined): PendingSignIn | undefined {
    const entry = id === undefined ? undefined : this.#entries.get(id);
    if (id === undefined || entry === undefined) return undefined;
    this.#entries.delete(id);
    const left = (this.#counts.get(entry.network) ?? 1) - 1;
    if (left === 0) this.#counts.delete(entry.network);
    else this.#counts.set(entry.network, left);
    return entry.endsAt > this.#clock.monotonic() ? entry : undefined;
  }

  /** The network that has the most. */
  #largest(): string {
    let largest = { network: '', count: 0 };
    for (const [network, count] of this.#counts) if (count > largest.count) largest = { network, count };
    return largest.network;
  }

  #forgetOldest(network: string): void {
    for (const [id, entry] of this.#entries) {
      if (entry.network !== network) continue;
      this.take(id);
      return;
    }
  }
}
