import type { RouterKey } from '@wherry/core/feed/messages.ts';
import { oldest } from '@wherry/core/resources/age.ts';
import type { ObjectMeta } from '@wherry/core/resources/meta.ts';

/** What an ApiKey claims: to be the key that its value stands for. */
export interface KeyClaim {
  record: RouterKey;
  metadata: Pick<ObjectMeta, 'name' | 'creationTimestamp'>;
}

/** Which of several ApiKeys of one value has it: to a router, which knows digests, they are one key. */
export class KeyHolders {
  /** By digest and name. */
  readonly #claims = new Map<string, Map<string, KeyClaim>>();
  readonly #digests = new Map<string, string>();

  /** @returns the digests whose holder may differ now. */
  set(name: string, claim: KeyClaim | undefined): string[] {
    const before = this.#digests.get(name);
    const after = claim?.record.digest;
    if (before !== undefined && before !== after) this.#drop(name, before);
    if (claim === undefined || after === undefined) return before === undefined ? [] : [before];
    this.#digests.set(name, after);
    this.#claims.set(after, (this.#claims.get(after) ?? new Map<string, KeyClaim>()).set(name, claim));
    return before === undefined || before === after ? [after] : [before, after];
  }

  /**
   * The oldest key, of the same age the first by name. One that is disabled or has expired keeps its value: that must
   * give access again by no key but its own.
   */
  holder(digest: string): RouterKey | undefined {
    return oldest([...(this.#claims.get(digest)?.values() ?? [])])?.record;
  }

  /** The holder of the key's value; undefined for a key that claims none. */
  holderFor(name: string): RouterKey | undefined {
    const digest = this.#digests.get(name);
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
    this.#digests.delete(name);
  }
}
