/** What an instance may take. */
export interface InstanceLimits {
  /** How long it may be silent until it has loaded. The runtime itself limits the total time of loading. */
  startMs: number;
  /**
   * How long it may be silent. It answers heartbeats, sent every 2 s: so a call that blocks the event loop for 2 s
   * always survives; one that never ends is killed, and a new instance is ready, within 5 s of its beginning (S3).
   */
  blockedMs: number;
  /** For the lame-duck second and the exit, on top of the time that running calls have. */
  drainGraceMs: number;
  /** Between two checks of an instance's memory and its last message. */
  checkMs: number;
  /** Between two checks of its temporary folder. */
  diskCheckMs: number;
  /** What its temporary folder may hold. */
  temporaryMiB: number;
  /** Files that it may hold. */
  temporaryEntries: number;
  /** An instance that was ready for this long before it died was not part of a crash loop. */
  stableMs: number;
}

export const INSTANCE_LIMITS: InstanceLimits = {
  startMs: 10_000,
  blockedMs: 4500,
  drainGraceMs: 5000,
  checkMs: 250,
  diskCheckMs: 2000,
  temporaryMiB: 64,
  temporaryEntries: 10_000,
  stableMs: 10_000,
};
