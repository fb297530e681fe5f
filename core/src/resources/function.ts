import { z } from 'zod';
import { ROUTE_RULES } from '../routes/route-rules.ts';
import { isRoutePattern, routeProblem } from '../routes/route-pattern.ts';
import { inKubernetes } from '../kubernetes-rule.ts';
import { conditionsSchema, digestSchema, nameSchema, observedGenerationSchema, timeSchema } from './meta.ts';
import { textSchema } from './text.ts';

export const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'] as const;
export type Method = (typeof METHODS)[number];

/** What `maxConcurrency: null` stands for: no function can take all of a router's capacity (R12). */
export const DEFAULT_MAX_CONCURRENCY = 1000;

const headerNamesSchema = z
  .array(
    z
      .string()
      .max(128)
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be a header name'),
  )
  .max(64);

export const corsSchema = z
  .strictObject({
    origins: z
      .array(
        textSchema(1, 512).regex(/^(\*|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\,]+)$/, 'must be * or scheme://host[:port]'),
      )
      .min(1)
      .max(64)
      .describe('Origins whose pages may read responses.'),
    credentials: z.boolean().describe('Whether browsers may send credentials.').optional(),
    maxAge: z
      .int()
      .min(0)
      .max(86_400)
      .default(86_400)
      .describe('How many seconds browsers may cache the response to a preflight request.'),
    allowHeaders: headerNamesSchema.describe('Request headers that browsers may send.').optional(),
    exposeHeaders: headerNamesSchema.describe('Response headers that scripts may read.').optional(),
  })
  .refine((cors) => !(cors.credentials === true && cors.origins.includes('*')), {
    path: ['credentials'],
    message: 'must not be true when origins contains *',
    params: inKubernetes("!(has(self.credentials) && self.credentials && '*' in self.origins)"),
  });
export type Cors = z.infer<typeof corsSchema>;

export const scalingSchema = z
  .strictObject({
    minReplicas: z.int().min(1).max(100).default(1).describe('The minimum number of instances.'),
    maxReplicas: z.int().min(1).max(100).default(1).describe('The maximum number of instances.'),
    targetConcurrency: z
      .int()
      .min(1)
      .max(1000)
      .default(50)
      .describe('How many calls one instance should handle at once.'),
    idleSeconds: z.int().min(10).max(86_400).default(300).describe('How long an idle instance is kept.'),
  })
  .refine((scaling) => scaling.maxReplicas >= scaling.minReplicas, {
    path: ['maxReplicas'],
    message: 'must not be less than minReplicas',
    params: inKubernetes('self.maxReplicas >= self.minReplicas'),
  });

export const resourcesSchema = z.strictObject({
  memoryMiB: z.int().min(64).max(8192).default(128).describe('Memory of an instance, in MiB.'),
  cpuMillis: z
    .int()
    .min(10)
    .max(64_000)
    .nullable()
    .default(null)
    .describe(
      'CPU of an instance in a cluster, in thousandths of a core: its request and its limit. If null, 5 are requested, and there is no limit.',
    ),
});

/** `<source name>/<path in the source>`; the file need not exist yet. */
export const handlerSchema = textSchema(3, 1024 + 65)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}\/[^\0\\]+$/, 'must be <source name>/<path in the source>')
  .refine((handler) => handler.split('/').every((part) => part !== '' && part !== '.' && part !== '..'), {
    message: 'must not contain empty, . or .. segments',
    params: inKubernetes("!('/' + self + '/').matches('/[.]{0,2}/')"),
  });

const routeSchema = z
  .string()
  .min(1)
  .max(512)
  .refine(isRoutePattern, {
    error: ({ input }) => routeProblem(String(input)),
    params: inKubernetes({ cel: ROUTE_RULES }),
  });

const methodsSchema = z
  .array(z.enum(METHODS))
  .min(1)
  .max(METHODS.length)
  .refine((methods) => new Set(methods).size === methods.length, {
    message: 'must not repeat a method',
    params: inKubernetes({ keywords: { 'x-kubernetes-list-type': 'set' } }),
  });

export const functionSpecSchema = z.strictObject({
  displayName: textSchema(1, 64)
    .regex(/\S/, 'must not be blank')
    .describe('The display name of the function. Default: metadata.name.')
    .optional(),
  description: textSchema(0, 1024).describe('A description for people.').optional(),
  handler: handlerSchema.describe(
    'The file that handles calls: <source name>/<path in the source>. It need not exist yet.',
  ),
  route: routeSchema.describe(
    'The paths that the function answers: /a/:b/* has a literal segment, a parameter, and * for the rest.',
  ),
  methods: methodsSchema.describe('The methods that the function answers.'),
  keyGroups: z
    .array(nameSchema)
    .min(1)
    .max(64)
    .describe('metadata.names of KeyGroups: callers must present a key of one of them. If absent, anybody may call.')
    .optional(),
  cors: corsSchema.describe('What pages of other origins may do in a browser. If absent, nothing.').optional(),
  enabled: z.boolean().default(true).describe('If false, calls get 404.'),
  timeoutSeconds: z.int().min(1).max(3600).default(30).describe('How long a call may take.'),
  maxRequestBytes: z
    .int()
    .min(0)
    .max(1_073_741_824)
    .default(10_485_760)
    .describe('How large the body of a request may be.'),
  maxConcurrency: z
    .int()
    .min(1)
    .max(10_000)
    .nullable()
    .default(null)
    .describe(
      'How many calls the function handles at once, over all of its instances; further ones get 429. If null, the limit of the service applies: 1000.',
    ),
  scaling: scalingSchema.prefault({}).describe('How many instances run.'),
  resources: resourcesSchema.prefault({}).describe('What one instance may use.'),
  revision: digestSchema.describe('A pin: the function serves this revision, whatever its source holds.').optional(),
  debug: z.boolean().default(false).describe("Shows the messages of a handler's errors to its callers."),
});
export type FunctionSpec = z.infer<typeof functionSpecSchema>;

const revisionSchema = z.strictObject({
  revision: digestSchema.describe('Digest of the artifact.'),
  source: textSchema(0, 64).describe('Name of the source that holds the handler.'),
  sourceRevision: digestSchema.describe("Digest of that source's tree at the time."),
  createdAt: timeSchema.describe('RFC 3339.'),
});

export const functionStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema.optional(),
  conditions: conditionsSchema.optional(),
  url: textSchema(0, 2048).describe('The URL at which the function is called.').optional(),
  activeRevision: digestSchema.describe('Digest of the artifact that calls go to.').optional(),
  shortRevision: textSchema(0, 12).describe('The first 12 digits of activeRevision, for display.').optional(),
  activeWorkload: textSchema(0, 63)
    .describe('Name of the workload that calls go to: one pair of artifact and instance template.')
    .optional(),
  replicas: z.int().min(0).describe('How many instances there are.').optional(),
  readyReplicas: z.int().min(0).describe('How many instances take calls.').optional(),
  revisions: z.array(revisionSchema).max(10).describe('The last good revisions, newest first.').optional(),
});
export type FunctionStatus = z.infer<typeof functionStatusSchema>;
