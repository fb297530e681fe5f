import toRegexRange from 'to-regex-range';
import { z } from 'zod';
import { SETTINGS, USER_SETTINGS, type SettingDefinition } from '@wherry/core/settings-definitions.ts';

export const settingListSchema = z.strictObject({
  settings: z.array(
    z.strictObject({ name: z.string(), value: z.string(), default: z.string(), scope: z.enum(['global', 'user']) }),
  ),
});
export type SettingView = z.output<typeof settingListSchema>['settings'][number];

/** What the service checks one by one, so that each bad value has a detail of its own. */
const VALUES = Object.fromEntries(
  Object.entries<SettingDefinition>({ ...SETTINGS, ...USER_SETTINGS }).map(([name, one]) => [name, valueSchema(one)]),
);

function valueSchema({ description, range, schema }: SettingDefinition): Record<string, unknown> {
  const text = range === undefined ? z.toJSONSchema(schema) : { pattern: `^${toRegexRange(...range)}$` };
  const { $schema: _dialect, ...rest } = { $schema: undefined, ...text };
  return { anyOf: [{ type: 'string', ...rest }, { type: 'null' }], description };
}

export const settingsBodySchema = z.strictObject({
  settings: z
    .record(z.string(), z.string().max(4096).nullable())
    .refine((settings) => Object.keys(settings).length > 0, { message: 'must set at least one setting' })
    .describe('Values by name; null restores the default')
    .meta({ properties: VALUES, additionalProperties: false, propertyNames: undefined, minProperties: 1 }),
});

export const settingsUpdatedSchema = z.strictObject({
  success: z.literal(true),
  updated: z.int().describe('How many settings were sent'),
});
