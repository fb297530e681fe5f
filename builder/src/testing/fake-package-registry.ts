import { createHash } from 'node:crypto';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { npmSpecifier } from '../packages/npm-specifier.ts';
import {
  PackageError,
  type PackageFailure,
  type PackageLayout,
  type PackageRegistry,
  type ResolveRequest,
  type ResolveResult,
} from '../packages/package-registry.ts';
import { makeTarball, type PackageContents } from '../packages/testing/make-tarball.ts';

/** Files by folder: `node_modules/a`, `node_modules/a/node_modules/b`. A package.json is made where there is none. */
export type Packages = Record<string, PackageContents>;

/** A registry that knows one tree of packages, and gives all of it to each request. */
export class FakePackageRegistry implements PackageRegistry {
  /** What was resolved, in order. */
  readonly resolved: ResolveRequest[] = [];
  /** The tarballs that were given out, in order. */
  readonly given: string[] = [];
  readonly #tarballs = new Map<string, Buffer>();
  readonly #packages: Packages;
  readonly #optional: string[];
  #failure: PackageFailure | undefined;
  #lock: string | undefined;

  constructor(packages: Packages = {}, { optional = [] }: { optional?: string[] } = {}) {
    this.#packages = packages;
    this.#optional = optional;
  }

  /** From now on nothing is resolved and no tarball comes; undefined: all goes well again. */
  fail(failure: PackageFailure | undefined): void {
    this.#failure = failure;
  }

  /** Publishes other files: what is resolved from now on has them. */
  publish(packages: Packages): void {
    Object.assign(this.#packages, packages);
    this.#lock = undefined;
  }

  requirementsDigest({ manifest, lock, specifiers }: ResolveRequest): string {
    return sha256(JSON.stringify([manifest, lock, specifiers.map(({ specifier }) => specifier).sort()]));
  }

  async resolve(request: ResolveRequest): Promise<ResolveResult> {
    this.resolved.push(request);
    if (this.#failure !== undefined) return { ok: false, ...this.#failure };
    this.#lock ??= this.#makeLock();
    const folders = Object.fromEntries(
      request.specifiers.map(({ specifier }) => {
        const npm = npmSpecifier(specifier);
        return 'spec' in npm ? [npm.spec, npm.name] : [specifier, specifier];
      }),
    );
    return {
      ok: true,
      requirementsDigest: this.requirementsDigest(request),
      lock: JSON.stringify({ packages: JSON.parse(this.#lock) as object, folders }),
    };
  }

  layout(lock: string): PackageLayout {
    return JSON.parse(lock) as PackageLayout;
  }

  async tarball(integrity: string): Promise<Buffer> {
    if (this.#failure !== undefined) throw new PackageError(this.#failure);
    this.given.push(integrity);
    const found = this.#tarballs.get(integrity);
    if (found === undefined) throw new Error('there is no such tarball');
    return found;
  }

  #makeLock(): string {
    const packages: PackageLayout['packages'] = {};
    for (const [folder, files] of Object.entries(this.#packages)) {
      const name = /.*node_modules\/(.*)$/.exec(folder)?.[1] ?? folder;
      const manifest = { name, version: '1.0.0' };
      const tarball = makeTarball({ 'package.json': JSON.stringify(manifest), ...files });
      const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
      this.#tarballs.set(integrity, tarball);
      packages[folder] = { ...manifest, integrity, ...(this.#optional.includes(folder) && { optional: true }) };
    }
    return JSON.stringify(packages);
  }
}
