import { z } from 'zod';
import { keyValueSchema } from '@wherry/core/keys/key-value.ts';
import { keyNameSchema } from '@wherry/core/resources/key-group.ts';
import { groupViewSchema } from '../key-groups/key-group-schemas.ts';
import { SETS_NOTHING, setsSomething, timeSchema } from '../resources/shape.ts';

const description = z.string().max(1024).nullish();
const expiresAt = z.iso
  .datetime({ offset: true })
  .nullish()
  .describe('From then on the key is an invalid one; null: never');

export const keyCreateSchema = z.strictObject({
  groupId: z.string().min(1).max(63),
  name: keyNameSchema,
  description,
  value: keyValueSchema.nullish().describe('Generated when left out'),
  enabled: z.boolean().nullish().describe('true when left out'),
  expiresAt,
});
export type KeyCreate = z.output<typeof keyCreateSchema>;

export const keyUpdateSchema = z
  .strictObject({
    groupId: z.string().optional().describe('Fixed after creation: may be sent unchanged'),
    name: keyNameSchema.optional(),
    description,
    value: keyValueSchema.optional(),
    enabled: z.boolean().optional(),
    expiresAt,
  })
  .refine(setsSomething, SETS_NOTHING);
export type KeyUpdate = z.output<typeof keyUpdateSchema>;

export const KEY_READ_ONLY = ['id', 'groupName', 'lastUsedAt', 'createdAt'] as const;

const includeValues = z
  .enum(['true', 'false'])
  .optional()
  .transform((value) => value === 'true')
  .describe('Whether to give the values; each such read is an audit record');
export const keyListQuerySchema = z.strictObject({ groupId: z.string().optional(), includeValues });
export const keyQuerySchema = z.strictObject({ includeValues });

const keyViewSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    value: z.string().optional(),
    description: z.string().nullable(),
    groupId: z.string(),
    groupName: z.string(),
    enabled: z.boolean(),
    expiresAt: timeSchema.nullable(),
    lastUsedAt: timeSchema.nullable().describe('Not recorded yet: always null'),
    createdAt: timeSchema,
  })
  .meta({ id: 'ApiKey' });
export type KeyView = z.output<typeof keyViewSchema>;
export const keyListSchema = z.strictObject({ keys: z.array(keyViewSchema) });
export const keyReplySchema = z.strictObject({
  key: keyViewSchema,
  group: groupViewSchema.nullable().describe('null when the group is gone'),
});
export const keyCreatedSchema = z.strictObject({ id: z.string(), name: z.string(), value: z.string() });
