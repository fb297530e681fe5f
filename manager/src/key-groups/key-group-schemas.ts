import { z } from 'zod';
import { keyNameSchema } from '@wherry/core/resources/key-group.ts';
import { SETS_NOTHING, setsSomething } from '../resources/shape.ts';

const description = z.string().max(1024).nullish();

export const groupCreateSchema = z.strictObject({ name: keyNameSchema, description });
export type GroupCreate = z.output<typeof groupCreateSchema>;

export const groupUpdateSchema = z
  .strictObject({ name: z.string().optional().describe('Fixed after creation: may be sent unchanged'), description })
  .refine(setsSomething, SETS_NOTHING);
export type GroupUpdate = z.output<typeof groupUpdateSchema>;

export const GROUP_READ_ONLY = ['id', 'keyCount'] as const;

export const groupViewSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    keyCount: z.int(),
  })
  .meta({ id: 'KeyGroup' });
export type GroupView = z.output<typeof groupViewSchema>;
export const groupListSchema = z.strictObject({ groups: z.array(groupViewSchema) });
export const groupCreatedSchema = z.strictObject({ id: z.string(), name: z.string() });
