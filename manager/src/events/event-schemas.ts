import { z } from 'zod';
import { functionViewSchema } from '../functions/function-schemas.ts';
import { groupViewSchema } from '../key-groups/key-group-schemas.ts';
import { keyViewSchema } from '../keys/key-schemas.ts';
import { secretViewSchema } from '../secrets/secret-schemas.ts';
import { settingListSchema } from '../settings/setting-schemas.ts';
import { sourceViewSchema } from '../sources/source-schemas.ts';

/** What `GET` of an object returns; keys and secrets without their values. */
const EVENT_OBJECTS = {
  Function: functionViewSchema,
  CodeSource: sourceViewSchema,
  KeyGroup: groupViewSchema,
  ApiKey: keyViewSchema.omit({ value: true }),
  FunctionSecret: secretViewSchema.omit({ value: true, decryptionError: true }),
  Settings: settingListSchema,
};
type EventKind = keyof typeof EVENT_OBJECTS;

const eventOf = <K extends EventKind>(kind: K) =>
  z.strictObject({
    type: z.enum(['added', 'modified', 'deleted']),
    kind: z.literal(kind),
    id: z.string(),
    object: EVENT_OBJECTS[kind]
      .nullable()
      .describe('What GET returns for the object, without values; null when it is deleted'),
  });

export const resourceEventSchema = z
  .discriminatedUnion('kind', [
    eventOf('Function'),
    eventOf('CodeSource'),
    eventOf('KeyGroup'),
    eventOf('ApiKey'),
    eventOf('FunctionSecret'),
    eventOf('Settings'),
  ])
  .meta({ id: 'ResourceEvent' });

/** Nothing: of `event: reset`. */
export const resetEventSchema = z.strictObject({});
