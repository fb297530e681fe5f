import { isDomainError } from '@wherry/core/errors.ts';
import type { KubeClient, Query } from './kube-client.ts';
import type { KubeList, KubeObject } from './kube-object.ts';

const PIECE = 500;
const LIST_LIMIT_MS = 15_000;

interface ListOptions {
  path: string;
  query?: Query;
  signal?: AbortSignal;
  /** For each piece. */
  timeoutMs?: number;
}

/**
 * All objects of a path as one state, fetched in pieces. A list that takes so long that the API server forgets its
 * state is fetched in one piece.
 */
export async function listObjects<T extends KubeObject>(
  client: KubeClient,
  options: ListOptions,
): Promise<{ items: T[]; resourceVersion: string }> {
  try {
    return await fetchAll<T>(client, options, PIECE);
  } catch (error) {
    if (!isDomainError(error, 'conflict')) throw error;
    return fetchAll<T>(client, options, undefined);
  }
}

async function fetchAll<T extends KubeObject>(
  client: KubeClient,
  { path, query, signal, timeoutMs = LIST_LIMIT_MS }: ListOptions,
  limit: number | undefined,
): Promise<{ items: T[]; resourceVersion: string }> {
  const items: T[] = [];
  for (let from: string | undefined; ;) {
    const list: KubeList<T> = await client.request({
      method: 'GET',
      path,
      query: { ...query, limit, continue: from },
      timeoutMs,
      ...(signal !== undefined && { signal }),
    });
    items.push(...list.items);
    from = list.metadata.continue === '' ? undefined : list.metadata.continue;
    if (from === undefined) return { items, resourceVersion: list.metadata.resourceVersion };
  }
}
