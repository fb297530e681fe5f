import * as esbuild from 'esbuild';
import { sha256 } from '@wherry/core/trees/tree.ts';
import { installation } from '../build-process/build-program.ts';
import { bundle, type BundleResult } from '../bundling/bundle.ts';
import { sourceFiles } from '../bundling/source-files.ts';
import type { PackageLayout } from '../packages/package-registry.ts';
import type { BuildOrder } from '../build-process/protocol.ts';
import { FakePackageRegistry, type Packages } from './fake-package-registry.ts';

/** By source and path. */
export type SourceTexts = Record<string, Record<string, string>>;

/** Bundles in this process, whose files esbuild could all read. End with `esbuild.stop()`. */
export async function bundleFiles(
  handler: string,
  sources: SourceTexts,
  packages: Packages | FakePackageRegistry = {},
): Promise<BundleResult> {
  const registry = packages instanceof FakePackageRegistry ? packages : new FakePackageRegistry(packages);
  const blobs = new Map(
    Object.values(sources).flatMap((files) => Object.values(files).map((text) => [sha256(text), Buffer.from(text)])),
  );
  const manifest = (files: Record<string, string>): BuildOrder['trees'][string] =>
    Object.fromEntries(Object.entries(files).map(([path, text]) => [path, [sha256(text), Buffer.byteLength(text)]]));
  const trees = Object.fromEntries(Object.entries(sources).map(([source, files]) => [source, manifest(files)]));
  const slash = handler.indexOf('/');
  const order: BuildOrder = {
    type: 'build',
    source: handler.slice(0, slash),
    path: handler.slice(slash + 1),
    trees,
    maxBytes: 1_000_000,
  };
  const read = async (digest: string): Promise<Buffer> => blobs.get(digest) ?? Buffer.alloc(0);
  return bundle(order, sourceFiles(trees, read), {
    esbuild,
    honoFolder: installation().honoFolder,
    packages: serviceOf(registry),
  });
}

function serviceOf(registry: FakePackageRegistry): Parameters<typeof bundle>[2]['packages'] {
  return {
    async layouts(requirements) {
      const layouts: Record<string, PackageLayout> = {};
      for (const [source, specifiers] of Object.entries(requirements)) {
        const resolved = await registry.resolve({ source, specifiers });
        if (resolved.ok) layouts[source] = registry.layout(resolved.lock);
      }
      return layouts;
    },
    tarball: (integrity) => registry.tarball(integrity),
  };
}
