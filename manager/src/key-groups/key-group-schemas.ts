import { z } from 'zod';
import { keyNameSchema } from '@wherry/core/resources/key-group.ts';
import { textSchema } from '@wherry/core/resources/text.ts';
import { limitFields, limitViewFields } from '../keys/limit-fields.ts';
import { fixedSchema, SETS_NOTHING, setsSomething } from '../object-access/shape.ts';

const description = textSchema(0, 1024).nullish();

export const groupCreateSchema = z.strictObject({ name: keyNameSchema, description, ...limitFields });
export type GroupCreate = z.output<typeof groupCreateSchema>;

export const groupUpdateSchema = z
  .strictObject({
    name: fixedSchema,
    description,
    ...limitFields,
  })
  .refine(setsSomething, SETS_NOTHING);
export type GroupUpdate = z.output<typeof groupUpdateSchema>;

export const GROUP_READ_ONLY = ['id', 'keyCount'] as const;

export const groupViewSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    ...limitViewFields,
    keyCount: z.int(),
  })
  .meta({ id: 'KeyGroup' });
export type GroupView = z.output<typeof groupViewSchema>;
export const groupListSchema = z.strictObject({ groups: z.array(groupViewSchema) });
export const groupCreatedSchema = z.strictObject({ id: z.string(), name: z.string() });
