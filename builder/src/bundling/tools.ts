import type * as Esbuild from 'esbuild';
import type { RequiredSpecifier, PackageLayout } from '../packages/package-registry.ts';
import type { Preparation } from './prepared-packages.ts';

/** What a build uses of the installation and of the service. */
export interface Tools {
  esbuild: typeof Esbuild;
  /** Folder of the package `hono`, whose JSX runtime the platform serves. */
  honoFolder: string;
  packages: PackageService;
  /** What was made ready before the order came, or still is. */
  prepared?: Preparation | undefined;
  /** Frees esbuild's memory: it is called once all is bundled, before the artifact is put together. */
  release?: () => void;
}

/** The service's side of npm packages. Where it fails, the service ends the build and says why. */
interface PackageService {
  /** @param requirements the sources that require packages, and the `npm:` specifiers that were reached in each. */
  layouts(requirements: Record<string, RequiredSpecifier[]>): Promise<Record<string, PackageLayout>>;
  /** The bytes of a tarball (gzip). */
  tarball(integrity: string): Promise<Uint8Array>;
}
