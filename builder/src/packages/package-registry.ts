import type { PACKAGE_FAILURE_REASONS } from '@wherry/core/resources/conditions.ts';
import type { SourceLocation } from '@wherry/core/ports/builder.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';

/** An import of an `npm:` specifier, and where it stands. */
export interface RequiredSpecifier extends SourceLocation {
  /** As written: `npm:lodash-es@4`, `npm:hono@4/cors`, `npm:@scope/x@1.2.3/sub`. */
  specifier: string;
}

/** Everything that decides which packages a source gets. */
export interface ResolveRequest {
  /** The source's name: it stands before the file in messages and locations. */
  source: string;
  /** Text of the package.json at the source's root. */
  manifest?: string;
  /** Text of the npm-shrinkwrap.json or package-lock.json beside it, and which of them it is. */
  lock?: string;
  lockFile?: 'npm-shrinkwrap.json' | 'package-lock.json';
  specifiers: readonly RequiredSpecifier[];
  /** An earlier lock that `resolve` made for this source: what still fits stays at its version. */
  base?: string;
}

export type PackageFailureReason = (typeof PACKAGE_FAILURE_REASONS)[number];

export interface PackageFailure {
  reason: PackageFailureReason;
  message: string;
  location?: SourceLocation;
  /** Whether the same request may succeed later: try again, with backoff. */
  retry: boolean;
}

export type ResolveResult =
  | {
      ok: true;
      /** Canonical text, a package-lock.json of version 3 without URLs: the same resolution gives the same bytes. */
      lock: string;
      /** Digest of the requirements. While it stays, the lock is used again. */
      requirementsDigest: Digest;
    }
  | ({ ok: false } & PackageFailure);

export interface LockedPackage {
  /** The package's own name, also where its folder has another (an alias). */
  name: string;
  version: string;
  /** One subresource integrity hash, `sha512-<base64>` as a rule; never SHA-1. */
  integrity: string;
  /** It is there only because of optional dependencies: those who import it can do without. */
  optional?: boolean;
}

/** The content of the virtual node_modules of a source. JSON, so that it can cross a pipe. */
export interface PackageLayout {
  /**
   * By virtual folder: `node_modules/a`, `node_modules/a/node_modules/@s/b`. Bundled dependencies lie inside their
   * package's tarball.
   */
  packages: Record<string, LockedPackage>;
  /**
   * The top-level folder name that answers an `npm:` import, by `name@range` as written (`hono@4`, `dayjs`): see
   * `npmSpecifier`.
   */
  folders: Record<string, string>;
}

/** Thrown by `tarball`. */
export class PackageError extends Error implements PackageFailure {
  override readonly name = 'PackageError';
  readonly reason: PackageFailureReason;
  readonly retry: boolean;

  constructor({ reason, message, retry }: PackageFailure) {
    super(message);
    this.reason = reason;
    this.retry = retry;
  }
}

/** Finds, fetches and keeps npm packages. Nothing is ever installed: a package is its tarball, verified at each use. */
export interface PackageRegistry {
  /**
   * Decides the version of each package.
   * @throws only the signal's reason.
   */
  resolve(request: ResolveRequest, signal: AbortSignal): Promise<ResolveResult>;
  /** The digest that `resolve` would give; cheap, and does nothing else. */
  requirementsDigest(request: ResolveRequest): Digest;
  /** Pure. @throws SyntaxError when the text is not a lock of ours. */
  layout(lock: string): PackageLayout;
  /**
   * The bytes of a tarball (gzip) that the lock names, from the cache or the registry.
   * @throws PackageError, or the signal's reason.
   */
  tarball(integrity: string, lock: string, signal: AbortSignal): Promise<Buffer>;
}

export interface RegistryOptions {
  url: string;
  /** Bearer token. It is sent only to the registry's own scheme, host and port. */
  token?: string | undefined;
  /** Certificates (PEM) to trust beside those of the system. */
  ca?: string | undefined;
  /** http or https URL of a proxy. */
  proxy?: string | undefined;
}
