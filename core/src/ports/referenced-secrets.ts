/**
 * A Kubernetes Secret, as far as fields may refer to it: its data, decoded as UTF-8, by key. Or why no field may, as
 * the end of a sentence that begins with the Secret's name (K6); the data of such a Secret is not kept.
 */
export type ReferencedSecret =
  { data: ReadonlyMap<string, string>; refused?: never } | { data?: never; refused: string };

/**
 * The Kubernetes Secrets of the objects' namespace, as far as confidential fields may refer to them (`secretKeyRef`).
 * Read from a cache that is kept current; on one machine there are none.
 */
export interface ReferencedSecrets {
  /** Undefined when there is no such Secret. */
  get(name: string): ReferencedSecret | undefined;
  /** Calls back with a Secret's name after each change of it. Returns how to stop. */
  onChange(callback: (name: string) => void): () => void;
}

/** Where there is no Kubernetes. */
export const NO_REFERENCED_SECRETS: ReferencedSecrets = { get: () => undefined, onChange: () => () => undefined };
