import { z } from 'zod';

/** Names of groups and of keys. */
export const keyNameSchema = z
  .string()
  .regex(/^[a-z0-9_-]{1,64}$/, 'must be 1 to 64 lowercase letters, digits, dashes and underscores');

export const keyGroupSpecSchema = z.strictObject({
  displayName: keyNameSchema.optional(),
  description: z.string().max(1024).optional(),
});
export type KeyGroupSpec = z.infer<typeof keyGroupSpecSchema>;

export const keyGroupStatusSchema = z.strictObject({
  observedGeneration: z.int().min(0).optional(),
  /** How many ApiKeys name this group. */
  keys: z.int().min(0).optional(),
});
export type KeyGroupStatus = z.infer<typeof keyGroupStatusSchema>;
