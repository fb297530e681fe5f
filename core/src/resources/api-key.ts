import { z } from 'zod';
import { confidentialSchema } from './confidential.ts';
import { keyNameSchema } from './key-group.ts';
import { conditionsSchema, nameSchema } from './meta.ts';

export const apiKeySpecSchema = z.strictObject({
  /** `metadata.name` of the KeyGroup. */
  keyGroup: nameSchema,
  displayName: keyNameSchema.optional(),
  description: z.string().max(1024).optional(),
  value: confidentialSchema,
  enabled: z.boolean().default(true),
  /** RFC 3339; from then on the key is an invalid one. */
  expiresAt: z.iso.datetime({ offset: true }).optional(),
});
export type ApiKeySpec = z.infer<typeof apiKeySpecSchema>;

export const apiKeyStatusSchema = z.strictObject({
  observedGeneration: z.int().min(0).optional(),
  conditions: conditionsSchema.optional(),
});
export type ApiKeyStatus = z.infer<typeof apiKeyStatusSchema>;
