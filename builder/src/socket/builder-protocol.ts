import { BUILD_FAILURE_REASONS } from '@wherry/core/resources/conditions.ts';
import type { BuildInput, KnownLock, UsedLock } from '@wherry/core/ports/builder.ts';
import { digestSchema } from '@wherry/core/resources/meta.ts';
import { treeManifestSchema } from '@wherry/core/trees/tree.ts';
import { z } from 'zod';
import { blobAnswerSchemas, blobRequestSchema } from '../blob-exchange/blob-protocol.ts';

/*
 * Between the operator and the builder beside it: JSON lines over a Unix socket, one connection a build. The operator
 * sends one `build`, answers the questions for blobs, and gets one `result` or `untried`. Closing the connection ends
 * the build.
 */

const MIB = 1024 * 1024;
/** Of a line from the builder: an artifact of 20 MiB as JSON, what it was made from, and locks. */
export const MAX_REPORT_BYTES = 128 * MIB;
/** B1. The bytes of an artifact. */
export const MAX_ARTIFACT_BYTES = 20 * MIB;
const MAX_LOCK_CHARACTERS = 32 * MIB;
const MAX_MESSAGE_CHARACTERS = 64 * 1024;
const MAX_SOURCES = 1000;
const MAX_INPUTS = 100_000;

const text = z.string().max(4096);
const knownLock: z.ZodType<KnownLock> = z.strictObject({ asks: digestSchema, lock: digestSchema });
const usedLock: z.ZodType<UsedLock> = z.strictObject({ asks: digestSchema, lock: z.string().max(MAX_LOCK_CHARACTERS) });
const inputs: z.ZodType<BuildInput[]> = z
  .array(z.strictObject({ source: text, path: text, digest: digestSchema }))
  .max(MAX_INPUTS);
/** By source; pairs, because a source could be called `__proto__`. */
const bySource = <T>(value: z.ZodType<T>): z.ZodType<[string, T][]> => z.array(z.tuple([text, value])).max(MAX_SOURCES);

/** From the operator. */
export const operatorMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('build'),
    source: text,
    path: text,
    trees: bySource(treeManifestSchema),
    locks: bySource(z.array(knownLock).max(1000)),
  }),
  ...blobAnswerSchemas,
]);
export type OperatorMessage = z.infer<typeof operatorMessageSchema>;
export type BuildMessage = Extract<OperatorMessage, { type: 'build' }>;

const ended = { inputs, locks: bySource(usedLock).exactOptional() };

/** From the builder, which is not trusted: it runs untrusted code. */
export const builderMessageSchema = z.discriminatedUnion('type', [
  blobRequestSchema,
  /** The artifact is text: one ES module. Its digest is not sent: the client computes it (B4). */
  z.strictObject({ type: z.literal('built'), artifact: z.string().max(MAX_ARTIFACT_BYTES), ...ended }),
  z.strictObject({
    type: z.literal('failed'),
    reason: z.enum(BUILD_FAILURE_REASONS),
    message: z.string().max(MAX_MESSAGE_CHARACTERS),
    location: z.strictObject({ file: text, line: z.int().min(1), column: z.int().min(1) }).exactOptional(),
    retry: z.boolean().exactOptional(),
    ...ended,
  }),
  /** The build could not run: it is retried. */
  z.strictObject({ type: z.literal('untried'), message: z.string().max(MAX_MESSAGE_CHARACTERS) }),
]);
export type BuilderMessage = z.infer<typeof builderMessageSchema>;
export type FinalMessage = Exclude<BuilderMessage, { type: 'blob' }>;
