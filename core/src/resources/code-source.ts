import { z } from 'zod';
import { confidentialSchema } from './confidential.ts';
import { inKubernetes } from '../kubernetes-rule.ts';
import { conditionsSchema, digestSchema, observedGenerationSchema } from './meta.ts';
import { textSchema } from './text.ts';

/** First segment of handler paths. `code` is kept free: a leading `code/` of a handler is dropped. */
export const sourceNameSchema = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/,
    'must be 1 to 64 letters, digits, dashes and underscores, and begin with a letter or digit',
  )
  .refine((name) => name !== 'code', {
    message: 'must not be code: a leading code/ is dropped from handlers',
    params: inKubernetes("self != 'code'"),
  })
  .meta({ maxLength: 64 });

const gitSchema = z.strictObject({
  url: textSchema(1, 2048).describe('URL of the repository.'),
  branch: textSchema(1, 255).describe('The branch to read.').optional(),
  tag: textSchema(1, 255).describe('The tag to read.').optional(),
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}$/, 'must be a full commit id')
    .meta({ maxLength: 40 })
    .describe('The commit to read, by its full id.')
    .optional(),
  authToken: confidentialSchema.describe('The token that the repository requires.').optional(),
});

const syncSchema = z.strictObject({
  intervalSeconds: z
    .int()
    .min(0)
    .max(31_536_000)
    .describe('How often the repository is read; 0 turns this off.')
    .optional(),
  webhook: z
    .strictObject({
      enabled: z.boolean().describe('Whether the repository is read when its host calls the webhook.').optional(),
      secret: confidentialSchema.describe('The secret that webhook calls are signed with.').optional(),
    })
    .describe('The webhook, which reads the repository on a push.')
    .optional(),
});

export const codeSourceSpecSchema = z
  .strictObject({
    displayName: sourceNameSchema
      .describe('First segment of the handlers of this source. Default: metadata.name.')
      .optional(),
    type: z.enum(['manual', 'git']).describe('Whether files are uploaded or read from a git repository.'),
    enabled: z.boolean().default(true).describe('If false, the files stay as they are.'),
    manual: z
      .strictObject({
        tree: digestSchema
          .describe(
            "The source's head: the digest of its tree's manifest. Uploads change it. Absent while there are no files.",
          )
          .optional(),
      })
      .describe('For type manual.')
      .optional(),
    git: gitSchema.describe('For type git: what to read.').optional(),
    sync: syncSchema.describe('For type git: when to read.').optional(),
  })
  .refine((spec) => spec.type !== 'manual' || spec.git === undefined, {
    path: ['git'],
    message: 'is only for type git',
    params: inKubernetes("self.type != 'manual' || !has(self.git)"),
  })
  .refine((spec) => spec.type !== 'git' || spec.git !== undefined, {
    path: ['git'],
    message: 'is required for type git',
    params: inKubernetes("self.type != 'git' || has(self.git)"),
  });
export type CodeSourceSpec = z.infer<typeof codeSourceSpecSchema>;

/** How many locks a source keeps: handlers of one source may each require other packages. */
export const MAX_SOURCE_LOCKS = 128;

const lockSchema = z.strictObject({
  asks: digestSchema.describe('Digest of the requirements.'),
  lock: digestSchema.describe('Digest of the blob that holds the lock.'),
});

export const codeSourceStatusSchema = z.strictObject({
  observedGeneration: observedGenerationSchema.optional(),
  conditions: conditionsSchema.optional(),
  tree: digestSchema.describe('Digest of the active tree.').optional(),
  shortTree: textSchema(0, 12).describe('The first 12 digits of tree, for display.').optional(),
  files: z.int().min(0).describe('How many files the tree has.').optional(),
  bytes: z.int().min(0).describe('Their total size.').optional(),
  locks: z.array(lockSchema).max(MAX_SOURCE_LOCKS).describe('Which packages builds resolved, newest first.').optional(),
});
export type CodeSourceStatus = z.infer<typeof codeSourceStatusSchema>;
