/** What one router reports of a limit: the calls that were presented to it, accepted or not. */
export interface OfferedCalls {
  offered: number;
  requestsPerSecond: number;
  burst: number;
}

/** A router's part of a limit. */
export interface Share {
  /** From 0 to 1: of the rate and of the burst. */
  share: number;
  /** Calls of the burst that the others have not used. */
  bonus: number;
}

/** A router that was not heard of for so long has no share any more; it then uses no more than an equal one. */
export const SHARE_TTL_MS = 30_000;
/** Part of a limit that is kept, in equal parts, for routers that have no calls of it at the moment. */
const RESERVE = 0.02;

interface Entry {
  /** Calls a second, smoothed: what was so a second ago counts half. */
  demand: number;
  share: number;
  /** When it was last heard of, and when it last had calls: monotonic milliseconds. */
  heardAt: number;
  usedAt: number;
}

/** Divides limits among routers by their demand. Pure: the caller says what time it is. */
export class ShareBoard {
  readonly #routers = new Map<string, number>();
  /** By limit and router. */
  readonly #limits = new Map<string, Map<string, Entry>>();

  /** The router is alive. @returns how many are. */
  heard(router: string, now: number): number {
    this.#routers.set(router, now);
    for (const [other, at] of this.#routers) if (now - at > SHARE_TTL_MS) this.#routers.delete(other);
    return this.#routers.size;
  }

  /** Takes down what a router reports of one limit. @returns its share from now on. */
  divide(router: string, limit: string, { offered, requestsPerSecond, burst }: OfferedCalls, now: number): Share {
    const entries = this.#entriesOf(limit, now);
    const before = entries.get(router);
    const entry = heardAgain(before, offered, now);
    entries.set(router, entry);
    const share = shareOf(entry, [...entries.values()], this.#routers.size);
    const refillMs = Math.max(1000, (burst / requestsPerSecond) * 1000);
    const isAlone = [...entries].every(([other, { usedAt }]) => other === router || now - usedAt > refillMs);
    const gained = share - (before?.share ?? 1 / this.#routers.size);
    entry.share = share;
    return { share, bonus: isAlone ? Math.max(0, gained) * burst : 0 };
  }

  #entriesOf(limit: string, now: number): Map<string, Entry> {
    for (const [name, entries] of this.#limits) {
      for (const [router, { heardAt }] of entries) if (now - heardAt > SHARE_TTL_MS) entries.delete(router);
      if (entries.size === 0) this.#limits.delete(name);
      // The oldest come first; one that is current ends the search.
      else break;
    }
    const entries = this.#limits.get(limit) ?? new Map<string, Entry>();
    for (const [router, { heardAt }] of entries) if (now - heardAt > SHARE_TTL_MS) entries.delete(router);
    this.#limits.delete(limit);
    this.#limits.set(limit, entries);
    return entries;
  }
}

function heardAgain(before: Entry | undefined, offered: number, now: number): Entry {
  if (before === undefined) return { demand: offered, share: 0, heardAt: now, usedAt: offered > 0 ? now : -Infinity };
  // Reports that come close together are of the same second.
  const seconds = Math.max(0.02, (now - before.heardAt) / 1000);
  const kept = 0.5 ** seconds;
  const demand = before.demand * kept + (offered / seconds) * (1 - kept);
  return { demand, share: before.share, heardAt: now, usedAt: offered > 0 ? now : before.usedAt };
}

/** In proportion to the demand of all routers that have any. */
function shareOf({ demand }: Entry, all: readonly Entry[], routers: number): number {
  const total = all.reduce((sum, entry) => sum + entry.demand, 0);
  if (total === 0) return 1 / Math.max(1, routers);
  const reserve = (RESERVE * total) / Math.max(1, routers);
  return (demand + reserve) / (total + reserve * all.length);
}
