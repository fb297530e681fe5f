import { z } from 'zod';
import type { BuildFailureReason, BuildInput, SourceLocation } from '@wherry/core/ports/builder.ts';
import { digestSchema, type Digest } from '@wherry/core/resources/meta.ts';
import { blobRequestSchema, type BlobAnswer } from '../blob-exchange/blob-protocol.ts';
import type { RequiredSpecifier, PackageLayout } from '../packages/package-registry.ts';

/** What the service sends the process that builds, over its one pipe. */
export interface BuildOrder {
  type: 'build';
  source: string;
  path: string;
  /** By source and path in it: digest and size of each file. Names, not contents. */
  trees: Record<string, Record<string, [digest: Digest, size: number]>>;
  /** Maximum bytes of the artifact, and of a single file that is read. */
  maxBytes: number;
}
/** What the service sends a process whose order may come later, so that it prepares. It is not answered. */
export interface WarmUp {
  type: 'warm';
  /** The packages of the last build that had some: the next one is likely to require the same. */
  packages?: WarmPackages;
}
export interface WarmPackages {
  layouts: Record<string, PackageLayout>;
  /** base64 of those tarballs (gzip) that were requested, by integrity. */
  tarballs: Record<string, string>;
  /** That of the order. */
  maxBytes: number;
}
/** The answer to a `packages` question: what lies in the virtual node_modules of each source. */
export interface LayoutsAnswer {
  type: 'layouts';
  layouts: Record<string, PackageLayout>;
}
export type Answer = BlobAnswer | LayoutsAnswer;

const REASONS = [
  'SourceNotFound',
  'HandlerNotFound',
  'SyntaxError',
  'ImportNotFound',
  'ImportNotSupported',
  'ExportError',
  'BuildTooLarge',
  'BuildFailed',
  'PackageRefused',
  'PackageCorrupt',
  'PackageTooLarge',
] as const satisfies readonly BuildFailureReason[];

/** The failures that the process itself can report; the others are visible only from outside. */
export interface BuildFailureReport {
  reason: (typeof REASONS)[number];
  message: string;
  location?: SourceLocation;
}

const requiredSpecifier: z.ZodType<RequiredSpecifier> = z.object({
  specifier: z.string().startsWith('npm:'),
  file: z.string(),
  line: z.int().min(1),
  column: z.int().min(1),
});
const inputs: z.ZodType<BuildInput[]> = z.array(
  z.object({ source: z.string(), path: z.string(), digest: digestSchema }),
);

/** What the build process sends. It runs untrusted code, so each line is checked. */
export const buildReportSchema = z.discriminatedUnion('type', [
  /** A file of the order's trees, or a tarball of a layout that was sent before. */
  blobRequestSchema,
  /** Once a build: by source, the `npm:` specifiers that it reaches; those of package.json are not repeated. */
  z.object({ type: z.literal('packages'), sources: z.record(z.string(), z.array(requiredSpecifier)) }),
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
