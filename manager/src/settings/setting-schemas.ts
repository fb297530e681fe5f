import { z } from 'zod';

export const settingListSchema = z.strictObject({
  settings: z.array(
    z.strictObject({ name: z.string(), value: z.string(), default: z.string(), scope: z.enum(['global', 'user']) }),
  ),
});
export type SettingView = z.output<typeof settingListSchema>['settings'][number];

export const settingsBodySchema = z.strictObject({
  settings: z
    .record(z.string(), z.string().max(4096).nullable())
    .refine((settings) => Object.keys(settings).length > 0, { message: 'must set at least one setting' })
    .describe('Name to value; null is the default'),
});

export const settingsUpdatedSchema = z.strictObject({
  success: z.literal(true),
  updated: z.int().describe('How many names were sent'),
});
