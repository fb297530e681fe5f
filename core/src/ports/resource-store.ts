import type { Kind, KindTypes, Resource } from '../resources/kinds.ts';

/** What a caller gives to create an object; the store assigns the rest of the metadata. */
export interface NewResource<K extends Kind> {
  kind: K;
  metadata: {
    name: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
  };
  spec: KindTypes[K]['spec'];
}

export interface ResourceList<K extends Kind> {
  items: Resource<K>[];
  /** The state that the items reflect: where a watch can start. */
  resourceVersion: string;
}

/** `deleted` carries the last state. `bookmark` says only that all changes up to its resourceVersion have been sent. */
export type WatchEvent<K extends Kind> =
  { type: 'added' | 'modified' | 'deleted'; object: Resource<K> } | { type: 'bookmark'; resourceVersion: string };

/**
 * The objects of one namespace. Every method rejects with a DomainError: `not_found`, `conflict` (the name exists; the
 * resourceVersion is stale), `validation_failed` (naming the field), `unavailable`. The returned objects belong to the
 * caller: changing one changes nothing in the store.
 */
export interface ResourceStore {
  readonly namespace: string;
  get<K extends Kind>(kind: K, name: string): Promise<Resource<K> | undefined>;
  list<K extends Kind>(kind: K): Promise<ResourceList<K>>;
  /** Validates, defaults, assigns uid, resourceVersion, generation 1 and creationTimestamp. */
  create<K extends Kind>(object: NewResource<K>): Promise<Resource<K>>;
  /**
   * Replaces spec, labels, annotations and finalizers where `metadata.resourceVersion` is still the stored one; status
   * is left alone. The generation grows only when spec differs; nothing is written when nothing differs. Removing the
   * last finalizer of a deleted object removes the object.
   */
  update<K extends Kind>(object: Resource<K>): Promise<Resource<K>>;
  /** Replaces status alone, with the same check of the resourceVersion; the generation stays. */
  updateStatus<K extends Kind>(object: Resource<K>): Promise<Resource<K>>;
  /** Removes the object, or sets deletionTimestamp while finalizers hold it. A failed precondition is a conflict. */
  delete(kind: Kind, name: string, preconditions?: { resourceVersion?: string; uid?: string }): Promise<void>;
  /**
   * Every change after `resourceVersion`, in order, until the signal aborts (then it ends without an error).
   * Rejects with DomainError `conflict` and the message prefix `Expired:` when that state is too old: list again.
   */
  watch<K extends Kind>(
    kind: K,
    options: { resourceVersion: string; signal: AbortSignal },
  ): AsyncIterable<WatchEvent<K>>;
}
