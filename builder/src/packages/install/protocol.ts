import { z } from 'zod';
import { lockEntrySchema, type LockEntry } from '../check-lock.ts';
import type { PackageFailureReason, RegistryOptions } from '../package-room.ts';
import type { RootManifest } from '../plan-install.ts';

/** What the service tells the install process, over its one pipe. */
export interface Configure {
  type: 'configure';
  /** The one folder that the process may read and write: Arborist wants manifest and lock as files. */
  folder: string;
  registry: RegistryOptions;
  limits: InstallLimits;
}
export interface InstallLimits {
  /** Packages that one source may have. */
  packages: number;
  /** Bytes of one tarball, and of the registry's answer about one package. */
  tarballBytes: number;
  metadataBytes: number;
  /** A connection that says nothing for so long has failed. */
  silenceMs: number;
}
export interface ResolveOrder {
  type: 'resolve';
  id: number;
  own: RootManifest;
  root: RootManifest;
  /** The author's lock. */
  lock?: Record<string, LockEntry>;
  /** What an earlier resolution chose. */
  base: Record<string, LockEntry>;
}
export interface TarballOrder {
  type: 'tarball';
  id: number;
  name: string;
  version: string;
  integrity: string;
}
export type InstallOrder = Configure | ResolveOrder | TarballOrder | { type: 'cancel'; id: number };

const REASONS = [
  'ManifestInvalid',
  'PackageRefused',
  'LockOutdated',
  'PackageNotFound',
  'PackageConflict',
  'RegistryUnavailable',
  'PackageCorrupt',
  'PackageTooLarge',
  'InstallFailed',
] as const satisfies readonly PackageFailureReason[];

const failureSchema = z.object({
  reason: z.enum(REASONS),
  message: z.string(),
  /** The packages that the failure is about, and who asked for them: for the place of the message. */
  packages: z.array(z.string()),
});
export type InstallFailure = z.infer<typeof failureSchema>;

const id = z.int();
/** What the install process says. It reads what strangers wrote, so that each line is checked. */
export const installReportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('resolved'), id, packages: z.record(z.string(), lockEntrySchema) }),
  z.object({ type: z.literal('chunk'), id, base64: z.string() }),
  z.object({ type: z.literal('fetched'), id }),
  failureSchema.extend({ type: z.literal('failed'), id }),
]);
export type InstallReport = z.infer<typeof installReportSchema>;
