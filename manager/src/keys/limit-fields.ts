import { z } from 'zod';
import { dailyQuotaSchema, rateLimitSchema, type RateLimit } from '@wherry/core/resources/key-limits.ts';

/** The limits of a key or a group in a body; null removes one. */
export const limitFields = {
  rateLimit: rateLimitSchema.nullish().describe('How fast calls are accepted, over all routers; null for no limit'),
  dailyQuota: dailyQuotaSchema.nullish().describe('How many calls are accepted in a day of UTC; null for no limit'),
};

/** The same in an answer. */
export const limitViewFields = {
  rateLimit: z.strictObject({ requestsPerSecond: z.int(), burst: z.int() }).nullable(),
  dailyQuota: z.int().nullable(),
};

interface Limits {
  rateLimit?: RateLimit | undefined;
  dailyQuota?: number | undefined;
}

type LimitBody = { [Field in keyof Limits]: Limits[Field] | null };

/** The limits of a spec once a body is applied: what it does not name stays. */
export function changedLimits(current: Limits, body: LimitBody): Limits {
  const rateLimit = body.rateLimit === undefined ? current.rateLimit : body.rateLimit;
  const dailyQuota = body.dailyQuota === undefined ? current.dailyQuota : body.dailyQuota;
  return {
    ...(rateLimit !== undefined && rateLimit !== null && { rateLimit }),
    ...(dailyQuota !== undefined && dailyQuota !== null && { dailyQuota }),
  };
}

export function limitView({ rateLimit, dailyQuota }: Limits): {
  rateLimit: { requestsPerSecond: number; burst: number } | null;
  dailyQuota: number | null;
} {
  return {
    rateLimit:
      rateLimit === undefined
        ? null
        : {
            requestsPerSecond: rateLimit.requestsPerSecond,
            burst: rateLimit.burst ?? rateLimit.requestsPerSecond,
          },
    dailyQuota: dailyQuota ?? null,
  };
}
