import { z } from 'zod';
import { nameSchema } from './meta.ts';

/**
 * The only shape a confidential field has: an envelope of `crypto/envelope.ts`, or a reference to a Kubernetes Secret.
 * There is no plaintext form, so that no annotation, event or backup can leak one.
 */
export const confidentialSchema = z
  .strictObject({
    encrypted: z.string().min(1).max(131_072).optional(),
    secretKeyRef: z.strictObject({ name: nameSchema, key: z.string().min(1).max(253) }).optional(),
  })
  .refine((value) => (value.encrypted === undefined) !== (value.secretKeyRef === undefined), {
    message: 'exactly one of encrypted and secretKeyRef is required',
  });
export type Confidential = z.infer<typeof confidentialSchema>;
