import type { ObjectWrites } from '@wherry/core/ports/object-writes.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';

/** The cluster's API, as the manager needs it. */
export interface Cluster {
  store: ResourceStore;
  objectWrites: ObjectWrites;
  referencedSecrets: ReferencedSecrets & { start(): Promise<void>; stop(): Promise<void> };
  close(): Promise<void>;
}
