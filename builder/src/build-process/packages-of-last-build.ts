import { isDeepStrictEqual } from 'node:util';
import type { PackageLayout, PackageRegistry } from '../packages/package-registry.ts';
import type { WarmPackages } from './protocol.ts';

/** At most this many bytes of tarballs are unpacked before they are requested. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The packages that a build received. */
export interface UsedPackages {
  layouts: Record<string, PackageLayout>;
  /** The lock that names each requested tarball, by integrity. */
  tarballs: Map<string, string>;
}

/** The packages of the last build that had some, for the spare process of the next build. */
export class PackagesOfLastBuild {
  readonly #registry: () => Promise<PackageRegistry>;
  #last: UsedPackages | undefined;

  constructor(registry: () => Promise<PackageRegistry>) {
    this.#registry = registry;
  }

  remember(used: UsedPackages): void {
    // A spare process that was given tarballs did not request them.
    const before = isDeepStrictEqual(used.layouts, this.#last?.layouts) ? this.#last?.tarballs : undefined;
    this.#last = { layouts: used.layouts, tarballs: new Map([...(before ?? []), ...used.tarballs]) };
  }

  /** Undefined where there is nothing to prepare. @throws PackageError for a tarball that cannot be used. */
  async toWarmUp(maxBytes: number, signal: AbortSignal): Promise<WarmPackages | undefined> {
    if (this.#last === undefined) return undefined;
    const { layouts, tarballs } = this.#last;
    const registry = await this.#registry();
    const given: Record<string, string> = {};
    let bytes = 0;
    for (const [integrity, lock] of tarballs) {
      const tarball = await registry.tarball(integrity, lock, signal);
      bytes += tarball.byteLength;
      if (bytes > MAX_BYTES) return undefined;
      given[integrity] = tarball.toString('base64');
    }
    return { layouts, tarballs: given, maxBytes };
  }
}
