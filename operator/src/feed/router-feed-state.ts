import { isDeepStrictEqual } from 'node:util';
import type { RouterDown, RouterFunction, RouterKey } from '@wherry/core/feed/messages.ts';

type Change = Extract<RouterDown, { type: 'change' }>;
type RouterSettings = NonNullable<Change['settings']>;
/** What a change holds beside its version. */
export type RouterDifference = Omit<Change, 'type' | 'version' | 'resourceVersion'>;

/** The desired state of every router, and what of it was not sent yet. */
export class RouterFeedState {
  readonly #functions = new Map<string, RouterFunction>();
  readonly #keys = new Map<string, RouterKey>();
  /** All ApiKeys of a digest, by name: two of one value are one key to a router, the one that opens longest. */
  readonly #holders = new Map<string, Map<string, RouterKey>>();
  readonly #digests = new Map<string, string>();
  readonly #changedFunctions = new Set<string>();
  readonly #changedDigests = new Set<string>();
  #settings: RouterSettings;
  #settingsChanged = false;

  constructor(settings: RouterSettings) {
    this.#settings = settings;
  }

  get functions(): ReadonlyMap<string, RouterFunction> {
    return this.#functions;
  }

  /** By digest. */
  get keys(): ReadonlyMap<string, RouterKey> {
    return this.#keys;
  }

  get settings(): RouterSettings {
    return this.#settings;
  }

  setFunction(id: string, record: RouterFunction | undefined): void {
    if (isDeepStrictEqual(record, this.#functions.get(id))) return;
    if (record === undefined) this.#functions.delete(id);
    else this.#functions.set(id, record);
    this.#changedFunctions.add(id);
  }

  /** @param id the ApiKey's name, which is also `record.id`. */
  setKey(id: string, record: RouterKey | undefined): void {
    const before = this.#digests.get(id);
    if (before !== undefined && before !== record?.digest) this.#release(id, before);
    if (record === undefined) return;
    this.#digests.set(id, record.digest);
    this.#holders.set(
      record.digest,
      (this.#holders.get(record.digest) ?? new Map<string, RouterKey>()).set(id, record),
    );
    this.#updateDigest(record.digest);
  }

  setSettings(settings: RouterSettings): void {
    if (isDeepStrictEqual(settings, this.#settings)) return;
    this.#settings = settings;
    this.#settingsChanged = true;
  }

  /** What differs since it was last taken; undefined: nothing. */
  takeDifference(): RouterDifference | undefined {
    const difference: RouterDifference = {
      ...(this.#settingsChanged ? { settings: this.#settings } : {}),
      ...presentAndGone('functions', 'removedFunctions', this.#changedFunctions, this.#functions),
      ...presentAndGone('keys', 'removedKeys', this.#changedDigests, this.#keys),
    };
    this.#settingsChanged = false;
    this.#changedFunctions.clear();
    this.#changedDigests.clear();
    return Object.keys(difference).length === 0 ? undefined : difference;
  }

  #release(id: string, digest: string): void {
    const holders = this.#holders.get(digest);
    holders?.delete(id);
    if (holders?.size === 0) this.#holders.delete(digest);
    this.#digests.delete(id);
    this.#updateDigest(digest);
  }

  #updateDigest(digest: string): void {
    const [record] = [...(this.#holders.get(digest)?.values() ?? [])].sort(opensLongerFirst);
    if (isDeepStrictEqual(record, this.#keys.get(digest))) return;
    if (record === undefined) this.#keys.delete(digest);
    else this.#keys.set(digest, record);
    this.#changedDigests.add(digest);
  }
}

/** Of two that open as long, the first by name. */
function opensLongerFirst(a: RouterKey, b: RouterKey): number {
  const byTime = (b.expiresAt ?? Number.MAX_VALUE) - (a.expiresAt ?? Number.MAX_VALUE);
  return byTime !== 0 ? byTime : a.id < b.id ? -1 : 1;
}

function presentAndGone(
  present: string,
  gone: string,
  changed: ReadonlySet<string>,
  records: ReadonlyMap<string, object>,
): object {
  const there = [...changed].flatMap((id) => records.get(id) ?? []);
  const missing = [...changed].filter((id) => !records.has(id));
  return { ...(there.length > 0 ? { [present]: there } : {}), ...(missing.length > 0 ? { [gone]: missing } : {}) };
}
