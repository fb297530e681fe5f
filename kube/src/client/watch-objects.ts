import { conflict } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { KubeClient, Query } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';
import { describePath, unavailable } from './status-error.ts';

const TYPES: Record<string, 'added' | 'modified' | 'deleted'> = {
  ADDED: 'added',
  MODIFIED: 'modified',
  DELETED: 'deleted',
};

/** How long one watch request runs, and how soon the next one follows. */
export interface WatchLimits {
  /** At least this long, and up to 1.3 times that, so that not all watches are renewed at once. */
  requestSeconds: number;
  /** From the beginning of one request to that of the next, however fast the server ends them. */
  pauseMs: number;
}
/**
 * A silent stream is cut after 35 to 44 s at most (`KubeClient.watch` adds 5 s), so that a change is seen within 60 s.
 */
export const WATCH_LIMITS: WatchLimits = { requestSeconds: 30, pauseMs: 1000 };

interface WatchOptions {
  path: string;
  query?: Query;
  resourceVersion: string;
  signal: AbortSignal;
  limits?: WatchLimits;
}

type ObjectEvent<T> =
  | { type: 'added' | 'modified'; object: T }
  | { type: 'deleted'; object: T }
  | { type: 'bookmark'; resourceVersion: string };

/**
 * Every change of a path's objects after a resourceVersion, in order and once, over as many requests as it takes; ends
 * only when the signal aborts. Rejects as `KubeClient` does: with `Expired:` where the state is no longer kept, or
 * where the server has gone back to an older one (etcd restored from a backup).
 */
export async function* watchObjects<T extends KubeObject>(
  client: KubeClient,
  clock: Clock,
  { path, query, resourceVersion, signal, limits = WATCH_LIMITS }: WatchOptions,
): AsyncGenerator<ObjectEvent<T>, void> {
  let position = resourceVersion;
  while (!signal.aborted) {
    const began = clock.monotonic();
    const timeoutSeconds = Math.ceil(limits.requestSeconds * (1 + 0.3 * Math.random()));
    const request = {
      path,
      signal,
      timeoutSeconds,
      query: { ...query, resourceVersion: position, allowWatchBookmarks: true },
    };
    for await (const raw of client.watch(request)) {
      const { metadata } = raw.object as Partial<T>;
      if (metadata === undefined)
        throw unavailable(`The API server sent an event of ${describePath(path)} without an object`);
      if (BigInt(metadata.resourceVersion) < BigInt(position)) throw wentBack(path);
      position = metadata.resourceVersion;
      yield eventOf<T>(raw, path);
      if (signal.aborted) return;
    }
    await clock.sleep(Math.max(0, limits.pauseMs - (clock.monotonic() - began)), signal).catch(() => undefined);
  }
}

function eventOf<T extends KubeObject>(
  { type, object }: { type: string; object: object },
  path: string,
): ObjectEvent<T> {
  const known = TYPES[type];
  if (known !== undefined) return { type: known, object: object as T };
  if (type === 'BOOKMARK') return { type: 'bookmark', resourceVersion: (object as T).metadata.resourceVersion };
  throw unavailable(`The API server sent an unknown event of ${describePath(path)}`);
}

function wentBack(path: string): Error {
  return conflict(`Expired: the API server has gone back to an older state of ${describePath(path)}: list again`);
}
