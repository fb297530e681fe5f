import type { RouterKey } from '@wherry/core/feed/messages.ts';
import { oldest } from '@wherry/core/resources/age.ts';
import type { ObjectMeta } from '@wherry/core/resources/meta.ts';

/** What an ApiKey claims: to be the key that its value stands for, or its previous one. */
interface KeyClaim {
  record: RouterKey;
  metadata: Pick<ObjectMeta, 'name' | 'creationTimestamp'>;
}

/** All that an ApiKey claims. */
export interface KeyClaims {
  /** Of its values; the current one comes first. */
  records: readonly RouterKey[];
  metadata: KeyClaim['metadata'];
}

/** Which of several ApiKeys of one value has it: to a router, which knows digests, they are one key. */
export class KeyHolders {
  /** By digest and name. */
  readonly #claims = new Map<string, Map<string, KeyClaim>>();
  /** By name; that of the current value comes first. */
  readonly #digests = new Map<string, string[]>();

  /** @returns the digests whose holder may differ now. */
  set(name: string, { records, metadata }: KeyClaims): string[] {
    const before = this.#digests.get(name) ?? [];
    const after = records.map(({ digest }) => digest);
    for (const digest of before) if (!after.includes(digest)) this.#drop(name, digest);
    for (const record of records) {
      const claims = this.#claims.get(record.digest) ?? new Map<string, KeyClaim>();
      this.#claims.set(record.digest, claims.set(name, { record, metadata }));
    }
    if (after.length === 0) this.#digests.delete(name);
    else this.#digests.set(name, after);
    return [...new Set([...before, ...after])];
  }

  /**
   * The oldest key, of the same age the first by name. One that is disabled or has expired keeps its values: they must
   * give access again by no key but its own.
   */
  holder(digest: string): RouterKey | undefined {
    return oldest([...(this.#claims.get(digest)?.values() ?? [])])?.record;
  }

  /** The holder of the key's current value; undefined for a key that claims none. */
  holderFor(name: string): RouterKey | undefined {
    const digest = this.#digests.get(name)?.[0];
    return digest === undefined ? undefined : this.holder(digest);
  }

  /** The names of all keys of that value. */
  names(digest: string): string[] {
    return [...(this.#claims.get(digest)?.keys() ?? [])];
  }

  #drop(name: string, digest: string): void {
    const claims = this.#claims.get(digest);
    claims?.delete(name);
    if (claims?.size === 0) this.#claims.delete(digest);
  }
}
