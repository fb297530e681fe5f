import type { Builder } from '@wherry/core/ports/builder.ts';
import type { ClusterWorkloads } from '@wherry/core/ports/cluster-workloads.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { Events } from '@wherry/core/ports/events.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { StoreRestores } from '@wherry/core/ports/store-restores.ts';
import type { FollowedObject, SystemObjects } from '@wherry/core/ports/system-objects.ts';

/** Something that runs in the background: caches, streams. */
interface Running {
  /** Resolves when it can be used. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Which of the replicas leads. */
interface Election {
  start(): void | Promise<void>;
  /** Releases the lease. */
  stop(): Promise<void>;
  isLeader(): boolean;
  onChange(callback: (leads: boolean) => void): unknown;
  readonly restores: StoreRestores;
}

/** What the operator needs of a cluster; `main.ts` makes it of `@wherry/kube` and `@wherry/builder`. */
export interface ClusterPorts {
  store: ResourceStore;
  /** Of the system's namespace. */
  systemSecrets: SystemObjects;
  /** One of them, by a watch. */
  followSystemSecret(name: string): FollowedObject;
  /** Of the functions' namespace. */
  configMaps: SystemObjects<string>;
  referencedSecrets: ReferencedSecrets & Running;
  events: Events & { stop(): void | Promise<void> };
  election: Election;
  /** @param leads whether this replica may write. @param tokenOf the feed token of a function's uid */
  workloads(options: { leads: () => boolean; tokenOf: (functionUid: string) => string }): ClusterWorkloads;
  builder(content: ContentStore): Builder & { stop(): Promise<void> };
  /** What the role of the operator does not let it list or watch; undefined where nothing is refused. */
  refusal(): string | undefined;
  /** Ends the connections to the API server. */
  close(): Promise<void>;
}
