/** Order within a call where timestamps are equal: its first and its last entry. */
export const FIRST = 0;
export const LAST = 2_147_483_647;
