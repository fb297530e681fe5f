import { isDeepStrictEqual } from 'node:util';
import type { RouterDown, RouterFunction, RouterKey } from '@wherry/core/feed/messages.ts';
import { KeyHolders, type KeyClaims } from '../keys/key-holders.ts';

type Change = Extract<RouterDown, { type: 'change' }>;
export type RouterSettings = NonNullable<Change['settings']>;
/** The content of a change besides its version. */
export type RouterDifference = Omit<Change, 'type' | 'version' | 'resourceVersion'>;

/** The desired state of every router, and which part of it was not sent yet. */
export class RouterFeedState {
  readonly #functions = new Map<string, RouterFunction>();
  readonly #keys = new Map<string, RouterKey>();
  readonly #holders = new KeyHolders();
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

  /**
   * @param name the ApiKey's, which is also the `id` of its records.
   * @returns other keys whose value has another holder now.
   */
  setKey(name: string, claims: KeyClaims): string[] {
    return this.#holders
      .set(name, claims)
      .filter((digest) => this.#updateDigest(digest))
      .flatMap((digest) => this.#holders.names(digest))
      .filter((other) => other !== name);
  }

  /** Which ApiKey has the value of this one; undefined for a key that routers must not accept. */
  holderFor(name: string): string | undefined {
    return this.#holders.holderFor(name)?.id;
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

  /** @returns whether another key holds the value now. */
  #updateDigest(digest: string): boolean {
    const before = this.#keys.get(digest);
    const record = this.#holders.holder(digest);
    if (isDeepStrictEqual(record, before)) return false;
    if (record === undefined) this.#keys.delete(digest);
    else this.#keys.set(digest, record);
    this.#changedDigests.add(digest);
    return record?.id !== before?.id;
  }
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
