import { z } from 'zod';
import { confidentialSchema } from './confidential.ts';
import { keyNameSchema } from './key-group.ts';
import { conditionsSchema, nameSchema, observedGenerationSchema } from './meta.ts';
import { textSchema } from './text.ts';

export const apiKeySpecSchema = z.strictObject({
  keyGroup: nameSchema.describe('metadata.name of the KeyGroup that the key belongs to.'),
  displayName: keyNameSchema.describe('The display name of the key. Default: metadata.name.').optional(),
  description: textSchema(0, 1024).describe('A description for people.').optional(),
  value: confidentialSchema.describe('The key that callers present.'),
  enabled: z.boolean().default(true).describe('If false, calls with the key are rejected.'),
  expiresAt: z.iso
    .datetime({ offset: true })
    .max(64)
    .describe('When the key expires: RFC 3339, with seconds. From then on it is invalid.')
    .optional(),
});
export type ApiKeySpec = z.infer<typeof apiKeySpecSchema>;

export const apiKeyStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema.optional(),
  conditions: conditionsSchema.optional(),
});
export type ApiKeyStatus = z.infer<typeof apiKeyStatusSchema>;
