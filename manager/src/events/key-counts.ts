import type { Informer } from '@wherry/service/informer.ts';

/** How many keys each group has, without counting all keys after each change of one. */
export class KeyCounts {
  readonly #groups = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #changed = new Set<string>();

  /** @param keys not started yet. */
  constructor(keys: Pick<Informer<'ApiKey'>, 'onChange'>) {
    keys.onChange((name, key) => this.#move(name, key?.spec.keyGroup));
  }

  of(groupId: string): number {
    return this.#counts.get(groupId) ?? 0;
  }

  /** The groups whose count has changed since the last call. */
  takeChanged(): string[] {
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }

  #move(key: string, to: string | undefined): void {
    const from = this.#groups.get(key);
    if (from === to) return;
    if (to === undefined) this.#groups.delete(key);
    else this.#groups.set(key, to);
    this.#add(from, -1);
    this.#add(to, 1);
  }

  #add(groupId: string | undefined, difference: number): void {
    if (groupId === undefined) return;
    const count = this.of(groupId) + difference;
    if (count === 0) this.#counts.delete(groupId);
    else this.#counts.set(groupId, count);
    this.#changed.add(groupId);
  }
}
