import { z } from 'zod';

/** API group and version of every Wherry object, in Kubernetes and in the embedded store alike. */
export const API_VERSION = 'wherry.dev/v1alpha1';

/** RFC 1123 label: the form of every `metadata.name`, and so of every REST id. */
export const nameSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a DNS label: lowercase letters, digits and dashes');

/** Lowercase hexadecimal SHA-256. */
export const digestSchema = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest in lowercase hexadecimal');
export type Digest = string;

export const conditionSchema = z.strictObject({
  type: z.string().min(1).max(64),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().min(1).max(128),
  message: z.string().max(4096),
  /** RFC 3339; moves only when `status` does, as in Kubernetes. */
  lastTransitionTime: z.string().max(64),
  observedGeneration: z.int().min(0),
});
export type Condition = z.infer<typeof conditionSchema>;
export const conditionsSchema = z.array(conditionSchema).max(8);

/** Annotations that survive export and restore, in milliseconds since 1970 UTC. */
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
