import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { Installer } from './npm/installer.ts';
import { matchesIntegrity } from '../blob-exchange/integrity.ts';
import { packageFailure } from './package-failure.ts';
import { PackageError, type LockedPackage } from './package-registry.ts';
import type { TarballCache } from './tarball-cache.ts';

/** Tarballs from the cache, else from the registry; either way they have the requested integrity. */
interface Tarballs {
  /** @throws PackageError, or the signal's reason. */
  get(wanted: LockedPackage, signal: AbortSignal): Promise<Buffer>;
  stop(): Promise<void>;
}

export function createTarballs({
  cache,
  installer,
  metrics,
}: {
  cache: TarballCache;
  installer: Installer;
  metrics: Metrics;
}): Tarballs {
  const counter = metrics.counter(METRICS.npmTarballs);
  const stopping = new AbortController();
  const running = new Map<string, Promise<Buffer>>();

  async function fetch({ name, version, integrity }: LockedPackage): Promise<Buffer> {
    const kept = await cache.read(integrity);
    counter.inc({ from: kept === undefined ? 'registry' : 'cache' });
    if (kept !== undefined) return kept;
    const answer = await installer.request({ type: 'tarball', name, version, integrity }, stopping.signal);
    if ('failure' in answer) throw new PackageError(packageFailure(answer.failure.reason, answer.failure.message));
    // The process that fetched it has checked it already, but handles untrusted input.
    if (!('bytes' in answer) || !matchesIntegrity(answer.bytes, integrity)) {
      throw new PackageError(
        packageFailure('PackageCorrupt', `${name}@${version} does not match the integrity hash ${integrity}.`),
      );
    }
    await cache.write(integrity, answer.bytes);
    return answer.bytes;
  }

  /** One fetch for everyone who waits for the same tarball; it continues when one of them leaves. */
  function fetchOnce(wanted: LockedPackage): Promise<Buffer> {
    const { integrity } = wanted;
    const fetched = running.get(integrity) ?? fetch(wanted).finally(() => running.delete(integrity));
    running.set(integrity, fetched);
    return fetched;
  }

  return {
    async get(wanted, signal) {
      signal.throwIfAborted();
      const aborted = Promise.withResolvers<never>();
      const abort = (): void => aborted.reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      return Promise.race([fetchOnce(wanted), aborted.promise]).finally(() =>
        signal.removeEventListener('abort', abort),
      );
    },
    async stop() {
      stopping.abort(new Error('the package registry is stopping'));
      await Promise.allSettled(running.values());
    },
  };
}
