import { z } from 'zod';
import type { BuildFailureReason, BuildInput, SourceLocation } from '@wherry/core/ports/builder.ts';
import { digestSchema, type Digest } from '@wherry/core/resources/meta.ts';

/** What the service tells the process that builds, over its one pipe. */
export interface BuildOrder {
  type: 'build';
  source: string;
  path: string;
  /** By source and path in it: digest and size of each file. Names, not contents. */
  trees: Record<string, Record<string, [digest: Digest, size: number]>>;
  /** Bytes that the artifact may have, and a single file that is read. */
  maxBytes: number;
}
/** The answer to a `blob` question. */
export interface BlobAnswer {
  type: 'blob';
  digest: Digest;
  base64: string;
}

/** Timeouts and a lack of memory are seen from outside alone. */
export interface BuildFailure {
  reason: Exclude<BuildFailureReason, 'BuildTimeout' | 'BuildOutOfMemory'>;
  message: string;
  location?: SourceLocation;
}

const REASONS = [
  'SourceNotFound',
  'HandlerNotFound',
  'SyntaxError',
  'ImportNotFound',
  'ImportNotSupported',
  'ExportError',
  'BuildTooLarge',
  'BuildFailed',
] as const satisfies readonly BuildFailure['reason'][];

const inputs: z.ZodType<BuildInput[]> = z.array(z.object({ source: z.string(), path: z.string(), digest: digestSchema }));

/** What the building process says. It handles code of strangers, so that each line is checked. */
export const buildReportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('blob'), digest: digestSchema }),
  z.object({ type: z.literal('built'), artifact: z.string(), inputs }),
  z.object({
    type: z.literal('failed'),
    reason: z.enum(REASONS),
    message: z.string(),
    location: z.object({ file: z.string(), line: z.int().min(1), column: z.int().min(1) }).exactOptional(),
    inputs,
  }),
]);
export type BuildReport = z.infer<typeof buildReportSchema>;
