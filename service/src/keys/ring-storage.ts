import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import { keyRingOf } from './keys-json.ts';
import type { Ring } from './ring-transitions.ts';

/** Where the master encryption keys lie: a file of one machine, a Secret of a cluster. */
export interface RingStorage {
  /** The newest state that this program knows. */
  ring(): Ring;
  /**
   * Changes the keys in one step that lasts: after a crash there is the state before it, or the one after.
   * @param decide returns the same object to change nothing. It runs again where another program was first.
   * @returns the state after it.
   * @throws DomainError `unavailable` where it cannot be written, and what `decide` throws.
   */
  change(decide: (ring: Ring) => Ring): Promise<Ring>;
  /** Calls back after each change, whoever made it. Returns how to stop. */
  onChange(callback: () => void): () => void;
  /** A value needs a version that is not there: another program may have added it just now. */
  missed(version: number): void;
}

/** The keys as those need them who encrypt and decrypt. They are read when they are first needed. */
export function keyRingOver(storage: RingStorage): KeyRing {
  let last: { of: Ring; ring: KeyRing } | undefined;
  const newest = (): KeyRing => {
    const of = storage.ring();
    if (last?.of !== of) last = { of, ring: keyRingOf(of) };
    return last.ring;
  };
  return {
    current: () => newest().current(),
    get(version) {
      const key = newest().get(version);
      if (key === undefined) storage.missed(version);
      return key;
    },
    onChange(callback) {
      let face: string | undefined;
      return storage.onChange(() => {
        const now = faceOf(storage.ring());
        if (now === face) return;
        face = now;
        callback();
      });
    },
  };
}

/** What a ring is to those who only use it: the progress of a rotation is no change of its keys. */
function faceOf({ current, keys }: Ring): string {
  return JSON.stringify([current, keys.map(({ version, secret }) => [version, secret])]);
}
