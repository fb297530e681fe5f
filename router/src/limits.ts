/** What the router takes of callers and functions. `docs/reference/limits.md` is generated from this table. */
export const ROUTER_LIMITS = {
  /** Bytes of all header lines (R9). */
  headerBytes: 16_384,
  /**
   * Lines of a head that Node keeps: each takes more memory than it has bytes (R12). It drops what follows, so a call
   * with so many is refused.
   */
  headers: 256,
  /** Bytes of a request target (R9). */
  targetBytes: 8192,
  /**
   * Words of a call that may be keys, and so cost a digest each. A target is too short for so many UUIDs, also where
   * each makes two words because an escaped comma precedes it: whoever sends more is trying to waste the router's time
   * (R12).
   */
  keyLikeWords: 512,
  /** How long a head may take to arrive (R11). */
  headMs: 10_000,
  /** Longer than the idle time of common load balancers, so that they close first. */
  idleMs: 65_000,
  /** A body of which fewer bytes arrive over a whole window in which the router was reading is given up (R11). */
  paceBytes: 640,
  paceWindowMs: 10_000,
  /** How long a call waits for an instance to become ready, within its timeout. */
  instanceWaitMs: 10_000,
  /** Bytes of a response's head (S4). */
  responseHeaderBytes: 32_768,
  /** Refused calls of a function that have a log entry each, in a window. */
  refusalEntries: 100,
  refusalWindowMs: 60_000,
};
