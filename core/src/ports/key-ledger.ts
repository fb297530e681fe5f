/** When keys were last used: milliseconds since 1970 UTC, by `metadata.name` of the ApiKey. */
export type KeyUses = Record<string, number>;

/** The one book of how keys are used, whichever router or manager they are presented to. */
export interface KeyLedger {
  /** Takes down when keys were last used; an earlier time changes nothing. It never blocks and never throws. */
  used(uses: KeyUses): void;
}
