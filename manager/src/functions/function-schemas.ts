import { z } from 'zod';
import {
  corsSchema,
  functionSpecSchema,
  handlerSchema,
  METHODS,
  resourcesSchema,
  scalingSchema,
} from '@wherry/core/resources/function.ts';
import { digestSchema } from '@wherry/core/resources/meta.ts';
import { parseRoute } from '@wherry/core/routes/route-pattern.ts';
import { timeSchema } from '../resources/shape.ts';

const spec = functionSpecSchema.shape;
const cors = corsSchema.shape;
const scaling = scalingSchema.shape;
const resources = resourcesSchema.shape;

/** A bare route check with the sentence of what is wrong. */
const route = z.string().superRefine((value, context) => {
  try {
    parseRoute(value);
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'is not a route pattern' });
  }
});

/** Crude Functions' handlers begin with `code/`; ours do not, so it is dropped. */
const handler = z
  .string()
  .max(1100)
  .transform((value) => value.replace(/^code\//, ''))
  .pipe(handlerSchema);

/** The body of POST and PUT. `null` stands for the default wherever a field is optional. */
export const functionBodySchema = z
  .strictObject({
    name: z.string().min(1).max(64).regex(/\S/, 'must not be blank'),
    description: z.string().max(1024).nullish(),
    handler,
    route,
    methods: spec.methods,
    keys: z
      .array(z.string().max(63))
      .max(64)
      .nullish()
      .describe('Ids of the key groups that may call; null or [] for anybody. PUT: unchanged when left out'),
    cors: z
      .strictObject({
        origins: cors.origins,
        credentials: z.boolean().nullish(),
        maxAge: z.int().min(0).max(86_400).nullish().describe('Seconds; 86400 when left out'),
        allowHeaders: cors.allowHeaders.nullable(),
        exposeHeaders: cors.exposeHeaders.nullable(),
      })
      .refine((value) => !(value.credentials === true && value.origins.includes('*')), {
        path: ['credentials'],
        message: 'must not be true when origins contains *',
      })
      .nullish(),
    enabled: z.boolean().nullish().describe('POST: true when left out. PUT: unchanged when left out'),
    timeoutSeconds: spec.timeoutSeconds.unwrap().nullish(),
    maxRequestBytes: spec.maxRequestBytes.unwrap().nullish(),
    maxConcurrency: spec.maxConcurrency
      .unwrap()
      .optional()
      .describe('Calls at once over all instances; null: the limit of the service, 1000'),
    scaling: z
      .strictObject({
        minReplicas: scaling.minReplicas.unwrap().nullish(),
        maxReplicas: scaling.maxReplicas.unwrap().nullish(),
        targetConcurrency: scaling.targetConcurrency.unwrap().nullish(),
        idleSeconds: scaling.idleSeconds.unwrap().nullish(),
      })
      .refine((value) => (value.maxReplicas ?? 1) >= (value.minReplicas ?? 1), {
        path: ['maxReplicas'],
        message: 'must not be less than minReplicas',
      })
      .nullish(),
    resources: z
      .strictObject({
        memoryMiB: resources.memoryMiB.unwrap().nullish(),
        cpuMillis: resources.cpuMillis.unwrap().optional(),
      })
      .nullish(),
    debug: z.boolean().nullish(),
  })
  .meta({ id: 'FunctionDefinition' });
export type FunctionBody = z.output<typeof functionBodySchema>;

/** What an answer holds and a body cannot set. */
export const FUNCTION_READ_ONLY = ['id', 'status', 'pinnedRevision', 'createdAt', 'updatedAt'] as const;

const functionViewSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    handler: z.string(),
    route: z.string(),
    methods: z.array(z.enum(METHODS)),
    keys: z.array(z.string()).nullable(),
    cors: z
      .strictObject({
        origins: z.array(z.string()),
        credentials: z.boolean(),
        maxAge: z.int(),
        allowHeaders: z.array(z.string()),
        exposeHeaders: z.array(z.string()),
      })
      .nullable(),
    enabled: z.boolean(),
    timeoutSeconds: z.int(),
    maxRequestBytes: z.int(),
    maxConcurrency: z.int().nullable(),
    scaling: z.strictObject({
      minReplicas: z.int(),
      maxReplicas: z.int(),
      targetConcurrency: z.int(),
      idleSeconds: z.int(),
    }),
    resources: z.strictObject({ memoryMiB: z.int(), cpuMillis: z.int().nullable() }),
    debug: z.boolean(),
    pinnedRevision: z.string().nullable(),
    createdAt: timeSchema,
    updatedAt: timeSchema,
    status: z.strictObject({
      ready: z.boolean().describe('Whether calls are answered by a good revision'),
      reason: z.string(),
      message: z.string(),
      url: z.string(),
      revision: z.string().nullable(),
      replicas: z.int(),
      readyReplicas: z.int(),
    }),
  })
  .meta({ id: 'Function' });
export type FunctionView = z.output<typeof functionViewSchema>;

export const functionReplySchema = z.strictObject({ function: functionViewSchema });
export const functionListSchema = z.strictObject({ functions: z.array(functionViewSchema) });

export const revisionListSchema = z.strictObject({
  revisions: z.array(
    z.strictObject({
      revision: z.string(),
      source: z.string(),
      sourceRevision: z.string(),
      createdAt: timeSchema,
      active: z.boolean(),
    }),
  ),
});
export type RevisionView = z.output<typeof revisionListSchema>['revisions'][number];

export const rollbackBodySchema = z.strictObject({
  revision: digestSchema.nullable().describe('The revision to pin; null follows the source again'),
});
