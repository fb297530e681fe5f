import { PACKAGE_FAILURE_REASONS } from '@wherry/core/resources/conditions.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import { z } from 'zod';
import { lockEntrySchema, type LockEntry } from '../check-lock.ts';
import type { RegistryOptions } from '../package-registry.ts';
import type { RootManifest } from '../plan-install.ts';

/** Of a line either way: the answer about a thousand packages is the longest. */
export const MAX_LINE_BYTES = 512 * 1024 * 1024;

/** What the service sends the install process, over its one pipe. */
interface Configure {
  type: 'configure';
  /** The one folder that the process may read and write: Arborist wants manifest and lock as files. */
  folder: string;
  registry: RegistryOptions;
  limits: InstallLimits;
}
export interface InstallLimits {
  /** Packages that one source may have. */
  packages: number;
  /** Packages that one resolution may consider. */
  candidates: number;
  /** Bytes of one tarball, and of the registry's answer about one package. */
  tarballBytes: number;
  metadataBytes: number;
  /** A connection that is silent for this long has failed. */
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

/** A name as registries have it: it becomes a path there. */
const packageName = z
  .string()
  .max(214)
  .regex(/^(@[\w~-][\w.~-]*\/)?[\w~-][\w.~-]*$/);
const entries = z.record(z.string(), lockEntrySchema);
const orderId = z.int();
/**
 * Its parts were checked where it was read (`check-manifest.ts`); npm's own code, which takes it, checks each name and
 * version.
 */
const rootManifest = z.custom<RootManifest>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
/**
 * What the program beside requests, over the installer's socket. Requests are untrusted input, so each line is checked;
 * and they cannot configure the registry, because whoever names the registry gets the token.
 */
export const socketOrderSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('resolve'),
    id: orderId,
    own: rootManifest,
    root: rootManifest,
    lock: entries.exactOptional(),
    base: entries,
  }),
  z.strictObject({
    type: z.literal('tarball'),
    id: orderId,
    name: packageName,
    version: z.string().max(256),
    integrity: z.string().max(512),
  }),
  z.strictObject({ type: z.literal('cancel'), id: orderId }),
]);

const failureSchema = z.object({
  reason: z.enum(PACKAGE_FAILURE_REASONS),
  message: z.string(),
  /** The packages that the failure is about, and who required them: for the place of the message. */
  packages: z.array(z.string()),
});
type InstallFailure = z.infer<typeof failureSchema>;

const id = z.int();
/** What the install process, or the installer for it, sends. It reads untrusted input, so each line is checked. */
export const installReportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('resolved'), id, packages: z.record(z.string(), lockEntrySchema) }),
  z.object({ type: z.literal('chunk'), id, base64: z.string() }),
  z.object({ type: z.literal('fetched'), id }),
  failureSchema.extend({ type: z.literal('failed'), id }),
]);
export type InstallReport = z.infer<typeof installReportSchema>;

/** Why the install process could not do what was requested. */
export class InstallError extends Error {
  override readonly name = 'InstallError';
  readonly failure: InstallFailure;

  constructor(reason: InstallFailure['reason'], message: string, packages: string[] = [], cause?: unknown) {
    super(message, { cause });
    this.failure = { reason, message, packages };
  }
}

const CHUNK_BYTES = 1024 * 1024;

/** Answers an order for a tarball, in lines of a size that a channel takes. */
export function sendTarball(channel: FeedChannel, id: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    channel.send({
      type: 'chunk',
      id,
      base64: bytes.subarray(at, at + CHUNK_BYTES).toString('base64'),
    } satisfies InstallReport);
  }
  channel.send({ type: 'fetched', id } satisfies InstallReport);
}
