import { z } from 'zod';
import { confidentialSchema } from './confidential.ts';
import { inKubernetes } from '../kubernetes-rule.ts';
import { conditionsSchema, nameSchema, observedGenerationSchema } from './meta.ts';
import { textSchema } from './text.ts';

export const SECRET_SCOPES = ['global', 'function', 'group', 'key'] as const;

/** Which field names the owner of a secret of each scope; a global one has none. */
const SCOPE_FIELD = { function: 'function', group: 'keyGroup', key: 'apiKey' } as const;
type OwnedScope = keyof typeof SCOPE_FIELD;

export const secretNameSchema = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,128}$/, 'must be 1 to 128 letters, digits, dashes and underscores')
  .meta({ maxLength: 128 });

const fieldsSchema = z.strictObject({
  name: secretNameSchema.describe('The name by which handlers read it.'),
  scope: z
    .enum(SECRET_SCOPES)
    .describe('Who can read it: all functions, one function, or calls with a key of one group or with one key.'),
  function: nameSchema.describe('For scope function: metadata.name of the Function.').optional(),
  keyGroup: nameSchema.describe('For scope group: metadata.name of the KeyGroup.').optional(),
  apiKey: nameSchema.describe('For scope key: metadata.name of the ApiKey.').optional(),
  comment: textSchema(0, 1024).describe('A description for people.').optional(),
  value: confidentialSchema.describe('The value that handlers get.'),
});

/** A secret has the owner that its scope requires, and no other. */
export const functionSecretSpecSchema = (['function', 'group', 'key'] as const)
  .flatMap(ownerRules)
  .reduce((schema, { check, ...rule }) => schema.refine(check, rule), fieldsSchema);
export type SecretScope = (typeof SECRET_SCOPES)[number];
export type FunctionSecretSpec = z.infer<typeof functionSecretSpecSchema>;

const ownerSchema = z.strictObject({
  kind: z.enum(['Function', 'KeyGroup', 'ApiKey']).describe('Its kind.'),
  name: nameSchema.describe('Its metadata.name.'),
  uid: textSchema(1, 64).describe('Its metadata.uid: an object created later with the same name is not the owner.'),
});
export type SecretOwner = z.infer<typeof ownerSchema>;

export const functionSecretStatusSchema = z.strictObject({
  owner: ownerSchema
    .describe('The owner, recorded when the operator first saw both objects. The secret is deleted with it.')
    .optional(),
  observedGeneration: observedGenerationSchema.optional(),
  conditions: conditionsSchema.optional(),
});
export type FunctionSecretStatus = z.infer<typeof functionSecretStatusSchema>;

interface OwnerRule {
  check: (spec: z.infer<typeof fieldsSchema>) => boolean;
  path: string[];
  message: string;
  params: Record<string, unknown>;
}

function ownerRules(scope: OwnedScope): OwnerRule[] {
  const field = SCOPE_FIELD[scope];
  // CEL reserves the word function.
  const named = `has(self.${field === 'function' ? '__function__' : field})`;
  return [
    {
      check: (spec) => spec.scope !== scope || spec[field] !== undefined,
      path: [field],
      message: `is required for scope ${scope}`,
      params: inKubernetes(`self.scope != '${scope}' || ${named}`),
    },
    {
      check: (spec) => spec.scope === scope || spec[field] === undefined,
      path: [field],
      message: `must be absent unless scope is ${scope}`,
      params: inKubernetes(`self.scope == '${scope}' || !${named}`),
    },
  ];
}
