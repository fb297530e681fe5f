import { z } from 'zod';
import { isRoutePattern } from '../routes/route-pattern.ts';
import { conditionsSchema, digestSchema, nameSchema } from './meta.ts';

export const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] as const;
export type Method = (typeof METHODS)[number];

export const corsSchema = z
  .strictObject({
    origins: z
      .array(z.string().min(1).max(512).regex(/^(\*|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\,]+)$/, 'must be * or scheme://host[:port]'))
      .min(1)
      .max(64),
    credentials: z.boolean().optional(),
    maxAge: z.int().min(0).max(86_400).default(86_400),
    allowHeaders: z.array(z.string().max(128).regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be a header name')).max(64).optional(),
    exposeHeaders: z.array(z.string().max(128).regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be a header name')).max(64).optional(),
  })
  .refine((cors) => !(cors.credentials === true && cors.origins.includes('*')), {
    path: ['credentials'],
    message: 'must not be true when origins contains *',
  });
export type Cors = z.infer<typeof corsSchema>;

export const scalingSchema = z
  .strictObject({
    minReplicas: z.int().min(1).max(100).default(1),
    maxReplicas: z.int().min(1).max(100).default(1),
    /** Calls that one instance should answer at once. */
    targetConcurrency: z.int().min(1).max(1000).default(50),
    idleSeconds: z.int().min(10).max(86_400).default(300),
  })
  .refine((scaling) => scaling.maxReplicas >= scaling.minReplicas, {
    path: ['maxReplicas'],
    message: 'must not be less than minReplicas',
  });

export const resourcesSchema = z.strictObject({
  memoryMiB: z.int().min(64).max(8192).default(128),
  cpuMillis: z.int().min(10).max(64_000).nullable().default(null),
});

/** `<source name>/<path in the source>`; the file need not exist yet. */
export const handlerSchema = z
  .string()
  .min(3)
  .max(1024 + 65)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}\/[^\0\\]+$/, 'must be <source name>/<path in the source>')
  .refine((handler) => handler.split('/').every((part) => part !== '' && part !== '.' && part !== '..'), {
    message: 'must not hold empty, . or .. segments',
  });

export const functionSpecSchema = z.strictObject({
  displayName: z.string().min(1).max(64).regex(/\S/, 'must not be blank').optional(),
  description: z.string().max(1024).optional(),
  handler: handlerSchema,
  route: z.string().min(1).max(512).refine(isRoutePattern, { message: 'is not a route pattern' }),
  methods: z
    .array(z.enum(METHODS))
    .min(1)
    .max(METHODS.length)
    .refine((methods) => new Set(methods).size === methods.length, { message: 'must not repeat a method' }),
  /** `metadata.name`s of KeyGroups: callers must present a key of one of them. Absent: anybody may call. */
  keyGroups: z.array(nameSchema).min(1).max(64).optional(),
  cors: corsSchema.optional(),
  enabled: z.boolean().default(true),
  timeoutSeconds: z.int().min(1).max(3600).default(30),
  maxRequestBytes: z.int().min(0).max(1_073_741_824).default(10_485_760),
  /** Calls of this function at once over all of its instances; null: no limit. */
  maxConcurrency: z.int().min(1).max(10_000).nullable().default(null),
  scaling: scalingSchema.prefault({}),
  resources: resourcesSchema.prefault({}),
  /** A pin: serve this revision whatever the source says. */
  revision: digestSchema.optional(),
  /** Shows the messages of a handler's errors to its callers. */
  debug: z.boolean().default(false),
});
export type FunctionSpec = z.infer<typeof functionSpecSchema>;

export const functionStatusSchema = z.strictObject({
  observedGeneration: z.int().min(0).optional(),
  conditions: conditionsSchema.optional(),
  url: z.string().max(2048).optional(),
  /** Digest of the artifact that answers calls. */
  activeRevision: digestSchema.optional(),
  /** Name of the workload that answers calls: one pair of artifact and instance template. */
  activeWorkload: z.string().max(63).optional(),
  replicas: z.int().min(0).optional(),
  readyReplicas: z.int().min(0).optional(),
  /** The last good revisions, newest first. */
  revisions: z
    .array(
      z.strictObject({
        revision: digestSchema,
        /** Name of the source that holds the handler. */
        source: z.string().max(64),
        /** Digest of that source's tree at the time. */
        sourceRevision: digestSchema,
        /** RFC 3339. */
        createdAt: z.string().max(64),
      }),
    )
    .max(10)
    .optional(),
});
export type FunctionStatus = z.infer<typeof functionStatusSchema>;
