import { z } from 'zod';
import { SECRET_SCOPES, secretNameSchema, type SecretScope } from '@wherry/core/resources/function-secret.ts';
import { nameSchema } from '@wherry/core/resources/meta.ts';
import { textSchema } from '@wherry/core/resources/text.ts';
import { fixedSchema, includeValuesSchema, SETS_NOTHING, setsSomething, timeSchema } from '../object-access/shape.ts';
import { MANAGER_LIMITS } from '../limits.ts';

const scope = z.enum(SECRET_SCOPES);
const ownerId = nameSchema.nullish();
const comment = textSchema(0, 1024).nullish();
const value = z
  .string()
  .min(1)
  .refine(
    (text) => Buffer.byteLength(text) <= MANAGER_LIMITS.secretBytes,
    `must have at most ${MANAGER_LIMITS.secretBytes} bytes as UTF-8`,
  )
  .meta({ maxLength: MANAGER_LIMITS.secretBytes })
  .describe('At most 64 KiB as UTF-8');

/** What a scope requires, for the document; `requestedScope` checks it. The owner is named once, by either name. */
function fieldsOf(one: SecretScope): object[] {
  const absent = { type: 'null' };
  const given = { type: 'string' };
  const fields = {
    scope: { const: one },
    scopeType: { const: one },
    functionId: absent,
    groupId: absent,
    keyId: absent,
  };
  if (one === 'global') return [{ properties: { ...fields, scopeRef: absent } }];
  const own = `${one}Id`;
  return [
    { properties: { ...fields, scopeRef: absent, [own]: given }, required: [own] },
    { properties: { ...fields, scopeRef: given }, required: ['scopeRef'] },
  ];
}

export const secretCreateSchema = z
  .strictObject({
    name: secretNameSchema,
    value,
    scope: scope.optional().describe('Required, by this name or as scopeType'),
    scopeType: scope.optional().describe('Alias of scope'),
    scopeRef: ownerId.describe('Alias of the id that the scope requires'),
    functionId: ownerId.describe('Required for scope function, and only for it'),
    groupId: ownerId.describe('Required for scope group, and only for it'),
    keyId: ownerId.describe('Required for scope key, and only for it'),
    comment,
  })
  .meta({
    anyOf: [{ required: ['scope'] }, { required: ['scopeType'] }],
    allOf: [{ anyOf: SECRET_SCOPES.flatMap(fieldsOf) }],
  });
export type SecretCreate = z.output<typeof secretCreateSchema>;

const fixedOrNull = fixedSchema.nullable().meta({ readOnly: true });
export const secretUpdateSchema = z
  .strictObject({
    value: value.optional(),
    comment,
    name: fixedSchema,
    scope: fixedSchema,
    scopeType: fixedSchema,
    scopeRef: fixedOrNull,
    functionId: fixedOrNull,
    groupId: fixedOrNull,
    keyId: fixedOrNull,
  })
  .refine(setsSomething, SETS_NOTHING);
export type SecretUpdate = z.output<typeof secretUpdateSchema>;

export const SECRET_READ_ONLY = ['id', 'createdAt', 'updatedAt', 'decryptionError'] as const;

const filter = z.string().optional();
export const secretListQuerySchema = z.strictObject({
  scope: scope.optional(),
  functionId: filter.describe('Only the secrets of this function'),
  groupId: filter.describe('Only the secrets of this key group'),
  keyId: filter.describe('Only the secrets of this key'),
  includeValues: includeValuesSchema,
});
export type SecretFilters = Omit<z.output<typeof secretListQuerySchema>, 'includeValues'>;
export const secretNameQuerySchema = z.strictObject({ scope: scope.optional() });

export const secretViewSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    comment: z.string().nullable(),
    scope,
    scopeType: scope.describe('The same as scope'),
    scopeRef: z.string().nullable().describe('The id of the function, group or key; null for scope global'),
    functionId: z.string().nullable(),
    groupId: z.string().nullable(),
    keyId: z.string().nullable(),
    createdAt: timeSchema,
    updatedAt: timeSchema,
    value: z.string().optional().describe('Only with includeValues=true'),
    decryptionError: z.string().optional().describe('With includeValues=true: why there is no value'),
  })
  .meta({ id: 'Secret' });
export type SecretView = z.output<typeof secretViewSchema>;
export const secretListSchema = z.strictObject({ secrets: z.array(secretViewSchema) });
export const secretsByNameSchema = z.strictObject({ name: z.string(), secrets: z.array(secretViewSchema) });
export const secretCreatedSchema = z.strictObject({ id: z.string(), name: z.string(), scope });
