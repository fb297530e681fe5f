import type { DomainError, ErrorCode } from '@wherry/core/errors.ts';
import type { NewResource, ResourceStore, WatchEvent } from '@wherry/core/ports/resource-store.ts';
import type { Kind, KeyGroupResource, Resource } from '@wherry/core/resources/kinds.ts';

/** An empty store of its own for one test. */
export interface OpenedStore {
  store: ResourceStore;
  close(): Promise<void>;
}

/** A small valid object. */
export function group(name: string, description?: string): NewResource<'KeyGroup'> {
  return { kind: 'KeyGroup', metadata: { name }, spec: description === undefined ? {} : { description } };
}

/** The object with another description. */
export function described(object: KeyGroupResource, description: string): KeyGroupResource {
  return { ...object, spec: { ...object.spec, description } };
}

/** The object with other finalizers. */
export function withFinalizers<K extends Kind>(object: Resource<K>, finalizers: string[]): Resource<K> {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

/** The refusal of the call, which must be a DomainError of the code. */
export async function refusal(call: Promise<unknown>, code: ErrorCode): Promise<DomainError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: 'DomainError', code });
  return error as DomainError;
}

/** The first `count` events of a watch that is then aborted, bookmarks left out. */
export async function take<K extends Kind>(
  store: ResourceStore,
  kind: K,
  { resourceVersion, count }: { resourceVersion: string; count: number },
): Promise<Exclude<WatchEvent<K>, { type: 'bookmark' }>[]> {
  const stop = new AbortController();
  const events: Exclude<WatchEvent<K>, { type: 'bookmark' }>[] = [];
  if (count === 0) return events;
  for await (const event of store.watch(kind, { resourceVersion, signal: stop.signal })) {
    if (event.type === 'bookmark') continue;
    events.push(event);
    if (events.length === count) stop.abort();
  }
  return events;
}
