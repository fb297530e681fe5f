import { z } from 'zod';
import { sourceNameSchema } from '@wherry/core/resources/code-source.ts';
import { NEW_SOURCE_NAME } from '../http/patterns.ts';
import { fixedSchema, SETS_NOTHING, setsSomething, timeSchema } from '../object-access/shape.ts';

/** For the document, as long as git sources are refused. */
const EMPTY = { description: 'Empty for type manual', properties: {} };

const typeSettings = z
  .strictObject({
    url: z.string().min(1).max(2048).nullish(),
    branch: z.string().min(1).max(255).nullish(),
    tag: z.string().min(1).max(255).nullish(),
    commit: z.string().min(1).max(64).nullish(),
    authToken: z.string().min(1).max(4096).nullish(),
  })
  .meta(EMPTY)
  .nullish();
const syncSettings = z
  .strictObject({
    intervalSeconds: z.int().min(0).max(31_536_000).nullish(),
    webhookEnabled: z.boolean().nullish(),
    webhookSecret: z.string().min(1).max(4096).nullish(),
  })
  .meta(EMPTY)
  .nullish();

export const sourceCreateSchema = z.strictObject({
  name: sourceNameSchema.meta(NEW_SOURCE_NAME),
  type: z
    .enum(['manual', 'git'])
    .meta({ enum: ['manual'] })
    .describe('git is not available yet'),
  enabled: z.boolean().nullish(),
  typeSettings,
  syncSettings,
});
export type SourceCreate = z.output<typeof sourceCreateSchema>;

export const sourceUpdateSchema = z
  .strictObject({
    name: fixedSchema,
    type: fixedSchema,
    enabled: z.boolean().optional(),
    typeSettings,
    syncSettings,
  })
  .refine(setsSomething, SETS_NOTHING);
export type SourceUpdate = z.output<typeof sourceUpdateSchema>;

export const SOURCE_READ_ONLY = [
  'id',
  'revision',
  'lastSyncAt',
  'lastSyncStartedAt',
  'lastSyncError',
  'createdAt',
  'updatedAt',
  'syncTriggered',
] as const;

const times = {
  lastSyncAt: timeSchema.nullable(),
  lastSyncStartedAt: timeSchema.nullable(),
  lastSyncError: z.string().nullable(),
};

export const sourceViewSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    type: z.enum(['manual', 'git']),
    typeSettings: z.strictObject({
      url: z.string().optional(),
      branch: z.string().optional(),
      tag: z.string().optional(),
      commit: z.string().optional(),
      authToken: z.string().optional(),
    }),
    syncSettings: z.strictObject({
      intervalSeconds: z.int().optional(),
      webhookEnabled: z.boolean().optional(),
      webhookSecret: z.string().optional(),
    }),
    enabled: z.boolean(),
    revision: z.string().nullable(),
    ...times,
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'CodeSource' });
export type SourceView = z.output<typeof sourceViewSchema>;
export const sourceListSchema = z.strictObject({ sources: z.array(sourceViewSchema) });
export const sourceUpdatedSchema = z.strictObject({ ...sourceViewSchema.shape, syncTriggered: z.boolean() });

export const sourceStatusSchema = z.strictObject({
  isSyncable: z.boolean(),
  isEditable: z.boolean(),
  isSyncing: z.boolean(),
  ...times,
  revision: z.string().nullable(),
});
export type SourceStatusView = z.output<typeof sourceStatusSchema>;

export const syncReplySchema = z.strictObject({ message: z.string(), jobId: z.string() });
