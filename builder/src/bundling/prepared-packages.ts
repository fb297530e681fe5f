import type { OnLoadResult } from 'esbuild';
import type { PackageLayout } from '../packages/package-registry.ts';
import type { PackageFiles } from './package-files.ts';
import type { LanguageOptions } from './ts-config.ts';

/** Packages that are unpacked, and their files as esbuild gets them. A tarball is identified by its content, whoever requests it. */
export interface PreparedPackages {
  packages: PackageFiles;
  loaded: ReadonlyMap<string, Promise<OnLoadResult>>;
}

/** Packages that are being made ready. */
export interface Preparation {
  /** Of `preparedKey`: they serve an order of the same. */
  key: string;
  /** Undefined where it did not go well: then the order does all itself. */
  ready: Promise<PreparedPackages | undefined>;
}

/** Everything that decides what the files of packages become. */
export const preparedKey = (
  layouts: Record<string, PackageLayout>,
  language: LanguageOptions,
  maxBytes: number,
): string => JSON.stringify([layouts, language, maxBytes]);
