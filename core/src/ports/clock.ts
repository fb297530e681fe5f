/** Time, and waiting, so that tests control both. */
export interface Clock {
  /** Milliseconds since 1970 UTC, with a fraction. */
  now(): number;
  /** Milliseconds that never go back; only differences mean something. */
  monotonic(): number;
  /** Calls back once after `ms`. Returns how to cancel it. */
  after(ms: number, callback: () => void): () => void;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
