/**
 * The Kubernetes Secrets of the objects' namespace, as far as confidential fields may refer to them (`secretKeyRef`).
 * Read from a cache that is kept current; on one machine there are none.
 */
export interface ReferencedSecrets {
  /** The Secret's data, decoded as UTF-8, by key; undefined when there is no such Secret. */
  get(name: string): ReadonlyMap<string, string> | undefined;
  /** Calls back with a Secret's name after each change of it. Returns how to stop. */
  onChange(callback: (name: string) => void): () => void;
}

/** Where there is no Kubernetes. */
export const NO_REFERENCED_SECRETS: ReferencedSecrets = { get: () => undefined, onChange: () => () => undefined };
