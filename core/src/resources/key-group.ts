import { z } from 'zod';
import { conditionsSchema, observedGenerationSchema } from './meta.ts';
import { dailyQuotaSchema, rateLimitSchema } from './key-limits.ts';
import { textSchema } from './text.ts';

/** Names of groups and of keys. */
export const keyNameSchema = z
  .string()
  .regex(/^[a-z0-9_-]{1,64}$/, 'must be 1 to 64 lowercase letters, digits, dashes and underscores')
  .meta({ maxLength: 64 });

export const keyGroupSpecSchema = z.strictObject({
  displayName: keyNameSchema.describe('The display name of the group. Default: metadata.name.').optional(),
  description: textSchema(0, 1024).describe('A description for people.').optional(),
  rateLimit: rateLimitSchema.describe('The rate limit of all keys of the group together.').optional(),
  dailyQuota: dailyQuotaSchema
    .describe('How many calls of all keys of the group are accepted in a day of UTC.')
    .optional(),
});
export type KeyGroupSpec = z.infer<typeof keyGroupSpecSchema>;

export const keyGroupStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema.optional(),
  conditions: conditionsSchema.optional(),
  keys: z.int().min(0).describe('How many ApiKeys name this group.').optional(),
});
export type KeyGroupStatus = z.infer<typeof keyGroupStatusSchema>;
