import type { ObjectWrites } from '@wherry/core/ports/object-writes.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { FollowedObject, SystemObjects } from '@wherry/core/ports/system-objects.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';

/** The cluster's API, as the manager needs it. */
export interface Cluster {
  store: ResourceStore;
  objectWrites: ObjectWrites;
  referencedSecrets: ReferencedSecrets & { start(): Promise<void>; stop(): Promise<void> };
  /** Of the system's namespace. */
  systemSecrets: SystemObjects;
  /** The Secret of the encryption keys, by a watch. */
  encryptionKeys: FollowedObject;
  /** Which replica rotates the encryption keys. */
  election: {
    start(): void;
    stop(): Promise<void>;
    isLeader(): boolean;
    onChange(callback: (leads: boolean) => void): () => void;
  };
  close(): Promise<void>;
}
