import type { ReferencedSecret, ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';

/** Secrets that a test makes, changes and takes away. */
export class FakeReferencedSecrets implements ReferencedSecrets {
  readonly #secrets = new Map<string, ReferencedSecret>();
  readonly #callbacks = new Set<(name: string) => void>();

  get(name: string): ReferencedSecret | undefined {
    return this.#secrets.get(name);
  }

  onChange(callback: (name: string) => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  /** @param data undefined: the Secret is deleted. */
  set(name: string, data: Record<string, string> | undefined): void {
    if (data === undefined) this.#secrets.delete(name);
    else this.#secrets.set(name, { data: new Map(Object.entries(data)) });
    for (const callback of this.#callbacks) callback(name);
  }

  /** The Secret is one that no field may refer to. */
  refuse(name: string, refused: string): void {
    this.#secrets.set(name, { refused });
    for (const callback of this.#callbacks) callback(name);
  }
}
