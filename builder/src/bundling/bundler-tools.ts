import type * as Esbuild from 'esbuild';
import type { OnLoadResult } from 'esbuild';
import type { RequiredSpecifier, PackageLayout } from '../packages/package-registry.ts';
import type { PackageFiles } from './package-files.ts';
import type { LanguageOptions } from './ts-config.ts';

/** What a build uses of the installation and of the service. */
export interface BundlerTools {
  esbuild: typeof Esbuild;
  /** Folder of the package `hono`, whose JSX runtime the platform serves. */
  honoFolder: string;
  packages: PackageService;
  /** What was prepared before the order arrived, or is still being prepared. */
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

/**
 * Packages that are unpacked, and their files as esbuild gets them. A tarball is identified by its content, whoever
 * requests it.
 */
export interface PreparedPackages {
  packages: PackageFiles;
  loaded: ReadonlyMap<string, Promise<OnLoadResult>>;
}

/** Packages that are being prepared. */
export interface Preparation {
  /** Of `preparedKey`: they serve an order of the same. */
  key: string;
  /** Undefined where preparing failed: then the build does everything itself. */
  ready: Promise<PreparedPackages | undefined>;
}

/** Everything that determines how the files of packages are compiled. */
export const preparedKey = (
  layouts: Record<string, PackageLayout>,
  language: LanguageOptions,
  maxBytes: number,
): string => JSON.stringify([layouts, language, maxBytes]);
