import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Kind, Resource } from '@wherry/core/resources/kinds.ts';
import { ListWatchInformer } from './list-watch-informer.ts';

/** What an informer needs of a store. */
export type ListedStore = Pick<ResourceStore, 'list' | 'watch'>;

interface InformerOptions<K extends Kind> {
  store: ListedStore;
  kind: K;
  clock: Clock;
  logger: Logger;
}

/** A cache of all objects of one kind of a store. */
export type Informer<K extends Kind> = ListWatchInformer<Resource<K>>;

/** An informer of a store's kind; `start` starts it. */
export function createInformer<K extends Kind>({ store, kind, clock, logger }: InformerOptions<K>): Informer<K> {
  const source = {
    list: () => store.list(kind),
    watch: (options: { resourceVersion: string; signal: AbortSignal }) => store.watch(kind, options),
  };
  return new ListWatchInformer<Resource<K>>({ source, name: kind, clock, logger });
}
