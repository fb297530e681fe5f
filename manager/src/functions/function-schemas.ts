import { z } from 'zod';
import { deceptiveCharacters } from '@wherry/core/deceptive-characters.ts';
import {
  corsSchema,
  functionSpecSchema,
  handlerSchema,
  METHODS,
  resourcesSchema,
  scalingSchema,
} from '@wherry/core/resources/function.ts';
import { digestSchema, nameSchema } from '@wherry/core/resources/meta.ts';
import { textSchema } from '@wherry/core/resources/text.ts';
import { parseRoute } from '@wherry/core/routes/route-pattern.ts';
import { HANDLER, inDocument, PLAIN_NAME, ROUTE } from '../http/patterns.ts';
import { timeSchema } from '../object-access/shape.ts';

const spec = functionSpecSchema.shape;
const cors = corsSchema.shape;
const scaling = scalingSchema.shape;
const resources = resourcesSchema.shape;

/** Stricter than `spec.displayName`: what a custom resource may hold stays what it was. */
const name = textSchema(1, 64)
  .regex(/\S/, 'must not be blank')
  .superRefine((value, context) => {
    const problem = deceptiveCharacters(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  })
  .meta(PLAIN_NAME);

/** A route check whose message says what is wrong. */
const route = z
  .string()
  .superRefine((value, context) => {
    try {
      parseRoute(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'is not a route pattern' });
    }
  })
  .meta({ maxLength: 512, ...ROUTE });

const CODE = 'code/';
const MAX_HANDLER = 1024 + 65;

/** Crude Functions' handlers begin with `code/`; ours do not, so it is dropped. */
const handler = textSchema(3, MAX_HANDLER + CODE.length)
  .transform((value) => (value.startsWith(CODE) ? value.slice(CODE.length) : value))
  .pipe(handlerSchema)
  .meta({ maxLength: MAX_HANDLER, ...HANDLER });

/** The body of POST and PUT. `null` stands for the default wherever a field is optional. */
export const functionBodySchema = z
  .strictObject({
    name,
    description: textSchema(0, 1024).nullish(),
    handler,
    route,
    methods: spec.methods.meta({ uniqueItems: true }),
    keys: z
      .array(nameSchema)
      .max(64)
      .nullish()
      .describe(
        'Ids of the key groups that may call the function; null or [] for anybody. PUT: unchanged when omitted',
      ),
    cors: z
      .strictObject({
        origins: cors.origins,
        credentials: z.boolean().nullish(),
        maxAge: z.int().min(0).max(86_400).nullish().describe('Seconds; 86400 when omitted'),
        allowHeaders: cors.allowHeaders.nullable(),
        exposeHeaders: cors.exposeHeaders.nullable(),
      })
      .refine((value) => !(value.credentials === true && value.origins.includes('*')), {
        path: ['credentials'],
        message: 'must not be true when origins contains *',
        params: inDocument({
          not: {
            properties: { credentials: { const: true }, origins: { contains: { const: '*' } } },
            required: ['credentials'],
          },
        }),
      })
      .nullish(),
    enabled: z.boolean().nullish().describe('POST: true when omitted. PUT: unchanged when omitted'),
    timeoutSeconds: spec.timeoutSeconds.unwrap().nullish(),
    maxRequestBytes: spec.maxRequestBytes.unwrap().nullish(),
    maxConcurrency: spec.maxConcurrency
      .unwrap()
      .optional()
      .describe('Concurrent calls over all instances; null for the limit of the service, 1000'),
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

export const functionViewSchema = z
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
      ready: z.boolean().describe('Whether a working revision answers calls'),
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
