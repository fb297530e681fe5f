import { z } from 'zod';
import { conditionsSchema } from './meta.ts';

/** `metadata.name` of the one Settings object. */
export const SETTINGS_NAME = 'wherry';

export const settingsSpecSchema = z.strictObject({
  /** Only what differs from the default; `settings/definitions.ts` lists names, defaults and rules. */
  values: z.record(z.string().max(128), z.string().max(4096)).default({}),
});
export type SettingsSpec = z.infer<typeof settingsSpecSchema>;

export const settingsStatusSchema = z.strictObject({
  observedGeneration: z.int().min(0).optional(),
  conditions: conditionsSchema.optional(),
});
export type SettingsStatus = z.infer<typeof settingsStatusSchema>;
