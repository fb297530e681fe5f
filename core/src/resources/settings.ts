import { z } from 'zod';
import { SETTINGS } from '../settings-definitions.ts';
import { conditionsSchema, observedGenerationSchema } from './meta.ts';

/** `metadata.name` of the one Settings object. */
export const SETTINGS_NAME = 'wherry';

/** The settings that are known, each optional. To those who read them they are a record of strings. */
const valuesSchema = z.strictObject(
  Object.fromEntries(
    Object.entries(SETTINGS).map(([name, setting]) => [
      name,
      setting.schema.describe(`${setting.description} Default: ${setting.default}.`).optional(),
    ]),
  ),
) as z.ZodType<Record<string, string>, Record<string, string>>;

export const settingsSpecSchema = z.strictObject({
  values: valuesSchema.default({}).describe('Only the settings that differ from the default. All values are strings.'),
});
export type SettingsSpec = z.infer<typeof settingsSpecSchema>;

export const settingsStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema.optional(),
  conditions: conditionsSchema.optional(),
});
export type SettingsStatus = z.infer<typeof settingsStatusSchema>;
