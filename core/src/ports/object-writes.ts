import type { Kind } from '../resources/kinds.ts';

/** An entry of `metadata.managedFields`: a client that wrote fields of an object, and when it last did. */
export interface ObjectWriter {
  /** What the client calls itself: `kubectl-client-side-apply`. Nobody checks it. */
  manager: string;
  operation: 'Apply' | 'Update';
  /** Empty for the object itself. */
  subresource: string;
  /** Milliseconds since 1970 UTC, in whole seconds; absent where the entry has none, as after kubectl's server-side apply. */
  time?: number;
}

/** An object without its content: which state it is in, and who wrote it. */
export interface WrittenObject {
  kind: Kind;
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    generation: number;
    /** Milliseconds since 1970 UTC, as the next one. */
    createdAt: number;
    /** Set while finalizers hold a deleted object. */
    deletedAt?: number;
  };
  displayName: string;
  writers: ObjectWriter[];
}

type WrittenObjectEvent =
  { type: 'added' | 'modified' | 'deleted'; object: WrittenObject } | { type: 'bookmark'; resourceVersion: string };

/** Who writes Wherry's objects in a cluster. Both methods reject as those of ResourceStore do. */
export interface ObjectWrites {
  list(kind: Kind): Promise<{ items: WrittenObject[]; resourceVersion: string }>;
  watch(kind: Kind, options: { resourceVersion: string; signal: AbortSignal }): AsyncIterable<WrittenObjectEvent>;
}
