import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { type Identified, type ListWatchEvent, ListWatchInformer } from '@wherry/service/list-watch-informer.ts';
import type { KubeClient } from './client/kube-client.ts';
import type { KubeObject } from './client/kube-object.ts';
import { listObjects } from './client/list-objects.ts';
import { watchObjects, type WatchLimits } from './client/watch-objects.ts';

interface ObjectCacheOptions<T extends Identified> {
  client: KubeClient;
  /** The collection: `/api/v1/namespaces/x/pods`. Names are its keys, so it covers one namespace. */
  path: string;
  labelSelector?: string;
  fieldSelector?: string;
  clock: Clock;
  logger: Logger;
  /**
   * What the cache keeps of an object as the server sends it; by default all but `managedFields`. An object for which
   * it throws is left out, with a warning.
   */
  keep?: (raw: KubeObject) => T;
  limits?: WatchLimits;
}

/** A cache of objects that are not Wherry's own: Pods, Secrets, Deployments … `start` starts it. */
export type ObjectCache<T extends Identified> = ListWatchInformer<T>;

export function createObjectCache<T extends Identified = KubeObject>(options: ObjectCacheOptions<T>): ObjectCache<T> {
  const { client, path, clock, logger, limits } = options;
  const keep = keeping(options);
  const query = { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector };
  return new ListWatchInformer<T>({
    name: path,
    clock,
    logger,
    source: {
      async list(signal) {
        const { items, resourceVersion } = await listObjects(client, { path, query, signal });
        return { items: items.flatMap(keep), resourceVersion };
      },
      async *watch({ resourceVersion, signal }): AsyncGenerator<ListWatchEvent<T>, void> {
        const watch = { path, query, resourceVersion, signal, ...(limits && { limits }) };
        for await (const event of watchObjects(client, clock, watch)) {
          if (event.type === 'bookmark' || event.type === 'deleted') yield event;
          else yield* eventsOf(event.type, event.object, keep);
        }
      },
    },
  });
}

/** An object that can no longer be cached is treated as gone: its former state would be wrong. */
function eventsOf<T extends Identified>(
  type: 'added' | 'modified',
  raw: KubeObject,
  keep: (raw: KubeObject) => T[],
): ListWatchEvent<T>[] {
  const kept = keep(raw);
  return kept.length === 0 ? [{ type: 'deleted', object: raw }] : kept.map((object) => ({ type, object }));
}

function keeping<T extends Identified>({ keep, logger, path }: ObjectCacheOptions<T>): (raw: KubeObject) => T[] {
  const ours = keep ?? ((raw: KubeObject) => withoutManagedFields(raw) as Identified as T);
  return (raw) => {
    try {
      return [ours(raw)];
    } catch (error) {
      logger.warn(
        { err: error, path, object: raw.metadata.name },
        'left out an object that does not have the expected form',
      );
      return [];
    }
  };
}

/** `managedFields` are half of an object's size, and nothing reads them. */
function withoutManagedFields(raw: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = raw.metadata as KubeObject['metadata'] & { managedFields?: unknown };
  return { ...raw, metadata };
}
