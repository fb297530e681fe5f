import { z } from 'zod';
import { inKubernetes } from '../kubernetes-rule.ts';
import { textSchema } from './text.ts';

/** API group and version of every Wherry object, in Kubernetes and in the embedded store alike. */
export const API_VERSION = 'wherry.dev/v1alpha1';

/** RFC 1123 label: the form of every `metadata.name`, and so of every REST id. */
export const nameSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a DNS label: 1 to 63 lowercase letters, digits and dashes');

/** Lowercase hexadecimal SHA-256. */
export const digestSchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest in lowercase hexadecimal')
  .meta({ maxLength: 64 });
export type Digest = string;

/** RFC 3339 in a status. */
export const timeSchema = textSchema(0, 64);

export const observedGenerationSchema = z
  .int()
  .min(-1)
  .describe('The metadata.generation that this status describes; -1 if none yet.');

const conditionSchema = z.strictObject({
  type: textSchema(1, 64).describe('What the condition is about, such as Ready.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
  reason: textSchema(1, 128).describe('A constant for programs.'),
  message: textSchema(0, 4096).describe('A sentence for people, which names the object and the field.'),
  lastTransitionTime: timeSchema.describe('When status last changed, RFC 3339.'),
  observedGeneration: z.int().min(0).describe('The metadata.generation that the condition describes.'),
});
export type Condition = z.infer<typeof conditionSchema>;
export const conditionsSchema = z
  .array(conditionSchema)
  .max(8)
  .refine((conditions) => new Set(conditions.map(({ type }) => type)).size === conditions.length, {
    message: 'must not repeat a type',
    params: inKubernetes({ keywords: { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] } }),
  })
  .describe('The state of the object, one condition for each type.');

/** Annotations that survive export and restore, in milliseconds since 1970 UTC; they decide nothing. */
export const CREATED_AT = 'wherry.dev/created-at';
export const UPDATED_AT = 'wherry.dev/updated-at';

/** What a store keeps beside spec and status; the meaning of each field is Kubernetes' own. */
export interface ObjectMeta {
  name: string;
  namespace: string;
  /** Assigned by the store; another object of the same name has another. */
  uid: string;
  /** Opaque to clients, but grows with every write of the store, so that two can be compared as integers. */
  resourceVersion: string;
  /** Counts the changes of `spec`, from 1. */
  generation: number;
  /** RFC 3339. */
  creationTimestamp: string;
  /** Set while finalizers hold a deleted object. */
  deletionTimestamp?: string;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}
