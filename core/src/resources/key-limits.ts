import { z } from 'zod';

const MAX_RATE = 100_000;

/** Of keys and of groups. */
export const rateLimitSchema = z.strictObject({
  requestsPerSecond: z.int().min(1).max(MAX_RATE).describe('How many calls a second are accepted, over all routers.'),
  burst: z
    .int()
    .min(1)
    .max(MAX_RATE)
    .describe('How many calls are accepted at once after a pause. Default: requestsPerSecond.')
    .optional(),
});
export type RateLimit = z.infer<typeof rateLimitSchema>;

export const dailyQuotaSchema = z
  .int()
  .min(1)
  .max(1_000_000_000)
  .describe('How many calls are accepted in a day of UTC, over all routers.');
