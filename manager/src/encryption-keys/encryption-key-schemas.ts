import { z } from 'zod';
import { timeSchema } from '../object-access/shape.ts';

const count = z.int().min(0);

export const rotationStatusSchema = z.strictObject({
  lastRotationAt: timeSchema.nullable().describe('When the last rotation ended; null before the first'),
  daysSinceRotation: count.nullable().describe('Whole days since then'),
  nextRotationAt: timeSchema.describe('When the next rotation is due, by encryption.key-rotation.interval-days'),
  rotationIntervalDays: z.int().min(1),
  currentVersion: z.int().min(1).describe('The key version with which values are encrypted'),
  isInProgress: z.boolean(),
  processed: count.describe('Values that are encrypted with the current key, in the running or the last rotation'),
  total: count.describe('All encrypted values'),
  failed: count.describe('Values that do not decrypt; while there are any, the older keys are not retired'),
});

export const rotatedSchema = z.strictObject({ success: z.literal(true), message: z.string() });

export const encryptionKeyListSchema = z.strictObject({
  keys: z.array(
    z.strictObject({
      version: z.int().min(1),
      state: z
        .enum(['added', 'active', 'superseded', 'retired'])
        .describe(
          'active: encrypts; the others only decrypt. added: not active yet. superseded: values may still need it. retired: no value needs it',
        ),
      createdAt: timeSchema,
      retiredAt: timeSchema.nullable(),
    }),
  ),
});
