import type { KeyObject } from 'node:crypto';

/** The master encryption keys, each 32 bytes, by version. New envelopes are made with the current one. */
export interface KeyRing {
  current(): { version: number; key: KeyObject };
  /** Undefined for a version that the ring does not hold. */
  get(version: number): KeyObject | undefined;
  /** Calls back when versions are added or removed, or another one becomes the current one. Returns how to stop. */
  onChange(callback: () => void): () => void;
}
