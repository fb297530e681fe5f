import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { createPackageRegistry, type PackageRegistryOptions } from '../create-package-registry.ts';
import type { PackageRegistry, ResolveRequest, ResolveResult } from '../package-registry.ts';

export interface RegistryBench {
  packages: PackageRegistry & { stop(): Promise<void> };
  logger: FakeLogger;
  /** The cache's folder. */
  directory: string;
  /** Resolves a manifest, given as an object, and the specifiers of one file, `api/main.ts`, one a line. */
  resolve(
    manifest: object | undefined,
    options?: { specifiers?: string[]; lock?: object; base?: string },
  ): Promise<ResolveResult>;
  /** The lock of a resolution that has to succeed. */
  lock(
    manifest: object | undefined,
    options?: { specifiers?: string[]; lock?: object; base?: string },
  ): Promise<string>;
  /** `name@version` by folder. */
  versions(lock: string): Record<string, string>;
  stop(): Promise<void>;
}

export async function registryBench(
  options: Partial<PackageRegistryOptions> & { registry: PackageRegistryOptions['registry'] },
): Promise<RegistryBench> {
  const directory = options.cacheDirectory ?? (await mkdtemp(path.join(tmpdir(), 'wherry-packages-')));
  const logger = new FakeLogger();
  const packages = createPackageRegistry({
    clock: systemClock,
    logger,
    metrics: new FakeMetrics(),
    ...options,
    cacheDirectory: directory,
  });
  const resolve: RegistryBench['resolve'] = async (manifest, { specifiers = [], lock, base } = {}) => {
    const request: ResolveRequest = {
      source: 'api',
      specifiers: specifiers.map((specifier, index) => ({
        specifier,
        file: 'api/main.ts',
        line: index + 1,
        column: 8,
      })),
      ...(manifest && { manifest: JSON.stringify(manifest, undefined, 2) }),
      ...(lock && { lock: JSON.stringify(lock, undefined, 2) }),
      ...(base !== undefined && { base }),
    };
    return packages.resolve(request, new AbortController().signal);
  };
  return {
    packages,
    logger,
    directory,
    resolve,
    async lock(manifest, more) {
      const result = await resolve(manifest, more);
      if (!result.ok) throw new Error(`${result.reason}: ${result.message}`);
      return result.lock;
    },
    versions: (lock) =>
      Object.fromEntries(
        Object.entries(packages.layout(lock).packages).map(([folder, { name, version }]) => [
          folder.replaceAll('node_modules/', ''),
          `${name}@${version}`,
        ]),
      ),
    async stop() {
      await packages.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Processes of this one that talk to a registry. */
export const installProcesses = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const parent = Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'latin1'))?.[1]);
        return parent === process.pid && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes('wherry-install-')
          ? [Number(name)]
          : [];
      } catch {
        return [];
      }
    });
