/** The data of a Secret or ConfigMap, and its resourceVersion. */
export interface SystemObject<T = Buffer> {
  data: Record<string, T>;
  resourceVersion: string;
}

/** One of them, kept current by a watch that survives every error. */
export interface FollowedObject<T = Buffer> {
  /** Calls back with the first state and after each change; undefined when it was deleted. Returns how to stop. */
  onChange(callback: (object: SystemObject<T> | undefined) => void): () => void;
  /** Resolves when the first state is there. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Wherry's own Secrets (of bytes) or ConfigMaps (of text) of one namespace, by name. Every method rejects with a
 * DomainError.
 */
export interface SystemObjects<T = Buffer> {
  get(name: string): Promise<SystemObject<T> | undefined>;
  /** @throws DomainError `conflict` when the name exists: nothing is ever overwritten. */
  create(name: string, data: Record<string, T>): Promise<SystemObject<T>>;
  /**
   * Replaces the data; what else is in it stays.
   * @throws DomainError `conflict` when it has changed since.
   */
  update(name: string, data: Record<string, T>, resourceVersion: string): Promise<SystemObject<T>>;
}
