import { z } from 'zod';
import { confidentialSchema } from './confidential.ts';
import { conditionsSchema, digestSchema } from './meta.ts';

/** First segment of handler paths. `code` is kept free: a leading `code/` of a handler is dropped. */
export const sourceNameSchema = z
  .string()
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/, 'must be 1 to 64 letters, digits, dashes and underscores, a letter or digit first')
  .refine((name) => name !== 'code', { message: 'must not be code: a leading code/ of a handler is dropped' });

export const codeSourceSpecSchema = z
  .strictObject({
    displayName: sourceNameSchema.optional(),
    type: z.enum(['manual', 'git']),
    enabled: z.boolean().default(true),
    /** The head of a manual source: digest of its tree's manifest. Absent: no files yet. Moved by compare-and-swap. */
    manual: z.strictObject({ tree: digestSchema.optional() }).optional(),
    git: z
      .strictObject({
        url: z.string().min(1).max(2048),
        branch: z.string().min(1).max(255).optional(),
        tag: z.string().min(1).max(255).optional(),
        commit: z.string().regex(/^[0-9a-f]{40}$/, 'must be a full commit id').optional(),
        authToken: confidentialSchema.optional(),
      })
      .optional(),
    sync: z
      .strictObject({
        intervalSeconds: z.int().min(0).max(31_536_000).optional(),
        webhook: z.strictObject({ enabled: z.boolean().optional(), secret: confidentialSchema.optional() }).optional(),
      })
      .optional(),
  })
  .refine((spec) => spec.type !== 'manual' || spec.git === undefined, { path: ['git'], message: 'belongs to type git' })
  .refine((spec) => spec.type !== 'git' || spec.git !== undefined, { path: ['git'], message: 'is required for type git' });
export type CodeSourceSpec = z.infer<typeof codeSourceSpecSchema>;

/** How many locks a source keeps: handlers of one source may each ask for other packages. */
export const MAX_SOURCE_LOCKS = 128;

export const codeSourceStatusSchema = z.strictObject({
  observedGeneration: z.int().min(0).optional(),
  conditions: conditionsSchema.optional(),
  /** Digest of the tree in force: of `spec.manual.tree`, or of the last good sync. */
  tree: digestSchema.optional(),
  commit: z.string().max(64).optional(),
  lastSyncStartedAt: z.string().max(64).optional(),
  lastSyncAt: z.string().max(64).optional(),
  lastSyncError: z.string().max(4096).optional(),
  files: z.int().min(0).optional(),
  bytes: z.int().min(0).optional(),
  /** Which packages builds settled on, newest first: `asks` names what was asked for, `lock` is the blob of the answer. */
  locks: z.array(z.strictObject({ asks: digestSchema, lock: digestSchema })).max(MAX_SOURCE_LOCKS).optional(),
});
export type CodeSourceStatus = z.infer<typeof codeSourceStatusSchema>;
