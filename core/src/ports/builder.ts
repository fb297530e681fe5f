import type { Reason } from '../conditions.ts';
import type { Digest } from '../resources/meta.ts';
import type { TreeManifest } from '../trees/tree.ts';

export interface BuildRequest {
  /** Name of the source that holds the handler, and the handler's path in it. */
  source: string;
  path: string;
  /** Every source that relative imports may reach, by name: the handler's own too. */
  trees: ReadonlyMap<string, TreeManifest>;
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

export type BuildFailureReason = Extract<
  Reason,
  | 'SourceNotFound'
  | 'HandlerNotFound'
  | 'SyntaxError'
  | 'ImportNotFound'
  | 'ImportNotSupported'
  | 'ExportError'
  | 'BuildTimeout'
  | 'BuildOutOfMemory'
  | 'BuildTooLarge'
  | 'BuildFailed'
>;

/** A build ends in one of these two; it rejects only when the build could not be tried (then it is tried again). */
export type BuildResult =
  | { ok: true; artifact: Uint8Array; revision: Digest; inputs: BuildInput[] }
  | { ok: false; reason: BuildFailureReason; message: string; location?: SourceLocation; inputs: BuildInput[] };

export interface Builder {
  build(request: BuildRequest, signal: AbortSignal): Promise<BuildResult>;
}
