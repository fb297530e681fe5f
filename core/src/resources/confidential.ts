import { z } from 'zod';
import { inKubernetes } from '../kubernetes-rule.ts';
import { nameSchema } from './meta.ts';
import { textSchema } from './text.ts';

/**
 * The only shape a confidential field has: an envelope of `crypto/envelope.ts`, or a reference to a Kubernetes Secret.
 * There is no plaintext form, so that no annotation, event or backup can leak one.
 */
export const confidentialSchema = z
  .strictObject({
    encrypted: textSchema(1, 131_072)
      .describe('An envelope that this installation created for exactly this field.')
      .optional(),
    secretKeyRef: z
      .strictObject({
        name: nameSchema.describe('metadata.name of a Secret in the same namespace.'),
        key: textSchema(1, 253).describe('Which entry of its data.'),
      })
      .describe('The entry of a Kubernetes Secret that holds the value.')
      .optional(),
  })
  .refine((value) => (value.encrypted === undefined) !== (value.secretKeyRef === undefined), {
    message: 'exactly one of encrypted and secretKeyRef is required',
    // Atomic: applying one form removes the other, whoever wrote it.
    params: inKubernetes({
      cel: [{ cel: 'has(self.encrypted) != has(self.secretKeyRef)' }],
      keywords: { 'x-kubernetes-map-type': 'atomic' },
    }),
  });
export type Confidential = z.infer<typeof confidentialSchema>;
