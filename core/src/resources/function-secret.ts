import { z } from 'zod';
import { confidentialSchema } from './confidential.ts';
import { conditionsSchema, nameSchema } from './meta.ts';

export const SECRET_SCOPES = ['global', 'function', 'group', 'key'] as const;
export type SecretScope = (typeof SECRET_SCOPES)[number];

/** Which field names the owner of a secret of each scope; a global one has none. */
export const SCOPE_FIELD = { function: 'function', group: 'keyGroup', key: 'apiKey' } as const;

export const functionSecretSpecSchema = z
  .strictObject({
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, 'must be 1 to 128 letters, digits, dashes and underscores'),
    scope: z.enum(SECRET_SCOPES),
    function: nameSchema.optional(),
    keyGroup: nameSchema.optional(),
    apiKey: nameSchema.optional(),
    comment: z.string().max(1024).optional(),
    value: confidentialSchema,
  })
  .superRefine((spec, context) => {
    for (const [scope, field] of Object.entries(SCOPE_FIELD)) {
      const wanted = spec.scope === scope;
      if (wanted === (spec[field] !== undefined)) continue;
      const message = wanted ? `is required for scope ${scope}` : `must be absent for scope ${spec.scope}`;
      context.addIssue({ code: 'custom', path: [field], message });
    }
  });
export type FunctionSecretSpec = z.infer<typeof functionSecretSpecSchema>;

export const functionSecretStatusSchema = z.strictObject({
  observedGeneration: z.int().min(0).optional(),
  conditions: conditionsSchema.optional(),
});
export type FunctionSecretStatus = z.infer<typeof functionSecretStatusSchema>;
