import { z } from 'zod';
import { keyValueSchema } from '@wherry/core/crypto/key-value.ts';
import { keyNameSchema } from '@wherry/core/resources/key-group.ts';
import { nameSchema } from '@wherry/core/resources/meta.ts';
import { textSchema } from '@wherry/core/resources/text.ts';
import { groupViewSchema } from '../key-groups/key-group-schemas.ts';
import { limitFields, limitViewFields } from './limit-fields.ts';
import { fixedSchema, includeValuesSchema, SETS_NOTHING, setsSomething, timeSchema } from '../object-access/shape.ts';

const description = textSchema(0, 1024).nullish();
const expiresAt = z.iso.datetime({ offset: true }).nullish().describe('When the key becomes invalid; null for never');

export const keyCreateSchema = z.strictObject({
  groupId: nameSchema,
  name: keyNameSchema,
  description,
  value: keyValueSchema.nullish().describe('Generated when omitted'),
  enabled: z.boolean().nullish().describe('true when omitted'),
  expiresAt,
  ...limitFields,
});
export type KeyCreate = z.output<typeof keyCreateSchema>;

export const keyUpdateSchema = z
  .strictObject({
    groupId: fixedSchema,
    name: keyNameSchema.optional(),
    description,
    value: keyValueSchema.optional(),
    enabled: z.boolean().optional(),
    expiresAt,
    ...limitFields,
  })
  .refine(setsSomething, SETS_NOTHING);
export type KeyUpdate = z.output<typeof keyUpdateSchema>;

/** Thirty days. */
const MAX_OVERLAP_SECONDS = 2_592_000;

export const keyRotateSchema = z.strictObject({
  overlapSeconds: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_SECONDS)
    .default(86_400)
    .describe('How long the current value stays valid alongside the new one; 0 invalidates it immediately'),
});
export type KeyRotate = z.output<typeof keyRotateSchema>;

export const KEY_READ_ONLY = ['id', 'groupName', 'previousValueExpiresAt', 'lastUsedAt', 'createdAt'] as const;

export const keyListQuerySchema = z.strictObject({
  groupId: z.string().optional(),
  includeValues: includeValuesSchema,
});
export const keyQuerySchema = z.strictObject({ includeValues: includeValuesSchema });

export const keyViewSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    value: z.string().optional(),
    description: z.string().nullable(),
    groupId: z.string(),
    groupName: z.string(),
    enabled: z.boolean(),
    expiresAt: timeSchema.nullable(),
    ...limitViewFields,
    previousValueExpiresAt: timeSchema
      .nullable()
      .describe('Until when the value from before the last rotation stays valid; null if there is none'),
    lastUsedAt: timeSchema
      .nullable()
      .describe('When the key last authenticated a call, known within a minute; null for never'),
    createdAt: timeSchema,
  })
  .meta({ id: 'ApiKey' });
export type KeyView = z.output<typeof keyViewSchema>;
export const keyListSchema = z.strictObject({ keys: z.array(keyViewSchema) });
export const keyReplySchema = z.strictObject({
  key: keyViewSchema,
  group: groupViewSchema.nullable().describe('null when the group no longer exists'),
});
export const keyCreatedSchema = z.strictObject({ id: z.string(), name: z.string(), value: z.string() });
export const keyRotatedSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  value: z.string(),
  previousValueExpiresAt: timeSchema,
});
