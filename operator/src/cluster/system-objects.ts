/** The data of a Secret or ConfigMap, and the state that it is of. */
export interface SystemObject {
  data: Record<string, Buffer>;
  resourceVersion: string;
}

/** Secrets, or ConfigMaps, of one namespace, by name. */
export interface SystemObjects {
  get(name: string): Promise<SystemObject | undefined>;
  /** @throws DomainError `conflict` when there is one of the name. */
  create(name: string, data: Record<string, Buffer>): Promise<SystemObject>;
  /** Replaces the data. @throws DomainError `conflict` when it is not of that state any more. */
  update(name: string, data: Record<string, Buffer>, resourceVersion: string): Promise<SystemObject>;
}
