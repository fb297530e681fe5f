import { isDomainError } from '@wherry/core/errors.ts';
import type { KnownLock, UsedLock } from '@wherry/core/ports/builder.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { MAX_SOURCE_LOCKS } from '@wherry/core/resources/code-source.ts';
import type { Caches } from '../informers/caches.ts';
import { writeStatus } from '../controller/write-status.ts';

/** How many other writers of a status may interfere. */
const ATTEMPTS = 10;

/** The npm packages that builds resolved, kept with their sources: the same tree is built from the same packages. */
export interface SourceLocks {
  /** By source's name, newest first. */
  known(sources: Iterable<string>): ReadonlyMap<string, readonly KnownLock[]>;
  /**
   * Keeps what a build used.
   * @returns whether it is the lock in use; false when another build of the source resolved the same requirements
   *   differently first.
   * @throws DomainError when the stores cannot take it.
   */
  keep(used: ReadonlyMap<string, UsedLock>): Promise<boolean>;
  /** Stops listening to the caches. */
  stop(): void;
}

export function createSourceLocks({
  caches,
  store,
  content,
}: {
  caches: Caches;
  store: ResourceStore;
  content: ContentStore;
}): SourceLocks {
  /** What was written last, by the source's name in the store: the caches see it only later. */
  const written = new Map<string, readonly KnownLock[]>();

  function knownOf(source: string): readonly KnownLock[] {
    const resource = caches.sourceNamed(source);
    if (resource === undefined) return [];
    const newest = written.get(resource.metadata.name) ?? [];
    return [...newest, ...without(resource.status.locks ?? [], newest)];
  }

  async function keepOne(source: string, { asks, lock }: UsedLock): Promise<boolean> {
    const { digest } = await content.put(Buffer.from(lock));
    const before = knownOf(source).find((one) => one.asks === asks);
    if (before !== undefined) return before.lock === digest;
    const name = caches.sourceNamed(source)?.metadata.name;
    // A source that is gone needs no lock.
    return name === undefined || add(name, { asks, lock: digest });
  }

  async function add(name: string, added: KnownLock, attempts = ATTEMPTS): Promise<boolean> {
    const source = await store.get('CodeSource', name);
    if (source === undefined) return true;
    const locks = source.status.locks ?? [];
    const before = locks.find((one) => one.asks === added.asks);
    const next = before === undefined ? [added, ...locks].slice(0, MAX_SOURCE_LOCKS) : locks;
    try {
      await writeStatus(store, source, { ...source.status, locks: next });
    } catch (error) {
      if (isDomainError(error, 'conflict') && attempts > 1) return add(name, added, attempts - 1);
      throw error;
    }
    written.set(name, next);
    return before === undefined || before.lock === added.lock;
  }

  const stop = caches.sources.onChange((name, source) => {
    if (source === undefined) written.delete(name);
  });

  return {
    known: (sources) => new Map([...sources].map((source) => [source, knownOf(source)])),
    async keep(used) {
      let holds = true;
      for (const [source, lock] of used) holds = (await keepOne(source, lock)) && holds;
      return holds;
    },
    stop,
  };
}

const without = (locks: readonly KnownLock[], others: readonly KnownLock[]): KnownLock[] =>
  locks.filter(({ asks }) => !others.some((other) => other.asks === asks));
