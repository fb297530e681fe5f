import { z } from 'zod';
import { inKubernetes } from '../kubernetes-rule.ts';
import { confidentialSchema } from './confidential.ts';
import { keyNameSchema } from './key-group.ts';
import { dailyQuotaSchema, rateLimitSchema } from './key-limits.ts';
import { conditionsSchema, nameSchema, observedGenerationSchema } from './meta.ts';
import { textSchema } from './text.ts';

const timeSchema = z.iso.datetime({ offset: true }).max(64);

export const apiKeySpecSchema = z
  .strictObject({
    keyGroup: nameSchema.describe('metadata.name of the KeyGroup that the key belongs to.'),
    displayName: keyNameSchema.describe('The display name of the key. Default: metadata.name.').optional(),
    description: textSchema(0, 1024).describe('A description for people.').optional(),
    value: confidentialSchema.describe('The key that callers present.'),
    previousValue: confidentialSchema
      .describe('The value that the key had before, which callers may present until previousValueExpiresAt.')
      .optional(),
    previousValueExpiresAt: timeSchema
      .describe('When previousValue becomes invalid: RFC 3339, with seconds.')
      .optional(),
    enabled: z.boolean().default(true).describe('If false, calls with the key are rejected.'),
    rateLimit: rateLimitSchema.describe('The rate limit of the key. That of its group applies too.').optional(),
    dailyQuota: dailyQuotaSchema.optional(),
    expiresAt: timeSchema
      .describe('When the key expires: RFC 3339, with seconds. From then on it is invalid.')
      .optional(),
  })
  .refine((spec) => (spec.previousValue === undefined) === (spec.previousValueExpiresAt === undefined), {
    path: ['previousValueExpiresAt'],
    message: 'previousValue and previousValueExpiresAt must be given together',
    params: inKubernetes('has(self.previousValue) == has(self.previousValueExpiresAt)'),
  });
export type ApiKeySpec = z.infer<typeof apiKeySpecSchema>;

export const apiKeyStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema.optional(),
  conditions: conditionsSchema.optional(),
});
export type ApiKeyStatus = z.infer<typeof apiKeyStatusSchema>;
