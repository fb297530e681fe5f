/** What an instance may take. */
export interface InstanceLimits {
  /** How long it may give no sign of life until it has loaded. The whole of loading is timed by the runtime itself. */
  startMs: number;
  /**
   * How long it may give no sign of life. It answers heartbeats, each 2 s: so a call that blocks the event loop for 2 s
   * always survives, and one that never ends is gone, and a new instance ready, within 5 s of its beginning (S3).
   */
  blockedMs: number;
  /** For the lame-duck second and the way out, on top of the time that running calls have. */
  drainGraceMs: number;
  /** Between two looks at an instance's memory and its last sign of life. */
  checkMs: number;
  /** Between two looks at its temporary folder. */
  diskCheckMs: number;
  /** What its temporary folder may hold. */
  temporaryMiB: number;
  /** An instance that was ready for so long before it died was no part of a crash loop. */
  stableMs: number;
}

export const INSTANCE_LIMITS: InstanceLimits = {
  startMs: 10_000,
  blockedMs: 4500,
  drainGraceMs: 5000,
  checkMs: 250,
  diskCheckMs: 2000,
  temporaryMiB: 64,
  stableMs: 10_000,
};
