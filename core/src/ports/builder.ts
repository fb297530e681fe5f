import type { BUILD_FAILURE_REASONS } from '../resources/conditions.ts';
import type { Digest } from '../resources/meta.ts';
import type { TreeManifest } from '../trees/tree.ts';

export interface BuildRequest {
  /** Name of the source that holds the handler, and the handler's path in it. */
  source: string;
  path: string;
  /** Every source that relative imports may reach, by name: the handler's own too. */
  trees: ReadonlyMap<string, TreeManifest>;
  /** What earlier builds resolved, by source, newest first: blobs of the content store. */
  locks?: ReadonlyMap<string, readonly KnownLock[]>;
}

/** A lock that satisfied the requirements before and is used again. */
export interface KnownLock {
  /**
   * Digest of the requirements: the dependencies of package.json, its lock, the `npm:` specifiers that a handler
   * reaches.
   */
  asks: Digest;
  /** Digest of the lock's text. */
  lock: Digest;
}

/** A lock that a build used. */
export interface UsedLock {
  asks: Digest;
  /** Text that names each package's version and integrity. */
  lock: string;
}

/** A file that the artifact was made from. */
export interface BuildInput {
  source: string;
  path: string;
  digest: Digest;
}

export interface SourceLocation {
  /** `<source>/<path>`. */
  file: string;
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
}

export type BuildFailureReason = (typeof BUILD_FAILURE_REASONS)[number];

/**
 * A build ends in one of these two; it rejects only when the build could not run (then it is retried). `locks`: by
 * source, what the packages of the sources that require some were taken from. Whoever requested the build keeps them
 * and names them in later requests, so that the same trees make the same artifact.
 */
export type BuildResult = BuildSuccess | BuildFailure;

interface BuildSuccess {
  ok: true;
  artifact: Uint8Array;
  revision: Digest;
  inputs: BuildInput[];
  locks?: ReadonlyMap<string, UsedLock>;
}

interface BuildFailure {
  ok: false;
  reason: BuildFailureReason;
  message: string;
  location?: SourceLocation;
  inputs: BuildInput[];
  locks?: ReadonlyMap<string, UsedLock>;
  /** The same request may succeed later, for example when a registry did not answer. */
  retry?: boolean;
}

export interface Builder {
  build(request: BuildRequest, signal: AbortSignal): Promise<BuildResult>;
}
