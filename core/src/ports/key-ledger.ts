import type { OfferedCalls, Share } from '../limits/share-board.ts';

/** When keys were last used: milliseconds since 1970 UTC, by `metadata.name` of the ApiKey. */
export type KeyUses = Record<string, number>;

/** What a router requests of a daily quota. */
export interface QuotaRequest {
  /** The quota itself. */
  daily: number;
  /** Calls that it wants to accept, beyond those that it was granted before. */
  wanted: number;
  /** Calls that it was granted on the day `day` and will not use. */
  returned: number;
  /** Calls that it has accepted without a grant, because it was cut off. */
  owed: number;
  /** Days since 1970 UTC that `returned` and `owed` belong to. */
  day: number;
}

/** What one router reports. */
export interface LimitReport {
  /** Unique to the router's process. */
  router: string;
  /** By holder: `key/<id>` or `group/<id>`. */
  limits: Record<string, { rate?: OfferedCalls | undefined; quota?: QuotaRequest | undefined }>;
}

/** What the router may do from now on. */
export interface LimitAnswer {
  /** How many routers there are. */
  routers: number;
  limits: Record<string, { rate?: Share | undefined; quota?: QuotaGrant | undefined }>;
}

/** A part of a daily quota. */
export interface QuotaGrant {
  /** Days since 1970 UTC. */
  day: number;
  /** Calls that the router may accept beside earlier grants; 0: the quota is used up. */
  granted: number;
  /** Calls that no router was granted yet. */
  left: number;
}

/** The one book of how keys are used, whichever router or manager they are presented to. */
export interface KeyLedger {
  /** Takes down when keys were last used; an earlier time changes nothing. It never blocks and never throws. */
  used(uses: KeyUses): void;
  /** Divides limits among routers. @throws DomainError `unavailable`. */
  exchange(report: LimitReport): Promise<LimitAnswer>;
}
