import { isDeepStrictEqual } from 'node:util';
import { conflict, notFound } from '../errors.ts';
import type { NewResource } from '../ports/resource-store.ts';
import type { Kind, Resource } from '../resources/kinds.ts';
import { API_VERSION, type ObjectMeta } from '../resources/meta.ts';
import { describe, parseMetadata, parseSpec, parseStatus, refuse, type SentMetadata } from './parse-object.ts';

/** What a write of the store brings with it. */
export interface WriteStamp {
  namespace: string;
  /** What the write will carry if there is one. */
  resourceVersion: string;
  /** For a new object. */
  uid: string;
  /** Milliseconds since 1970 UTC. */
  now: number;
}

/** What a write does to its object; `deleted`: it is gone, and this was its last state. */
export interface Change<K extends Kind = Kind> {
  type: 'added' | 'modified' | 'deleted';
  /** Carries the resourceVersion of the change, also where it is `deleted`. */
  object: Resource<K>;
}

/** Which state the caller means to delete. */
export interface Preconditions {
  resourceVersion?: string;
  uid?: string;
}

/*
 * The four writes of a ResourceStore as pure functions from the stored object to the next one: the stores only read,
 * call them, and write the result. Each throws the DomainError of its port. `undefined` means that nothing differs, and
 * nothing is written. The order of the checks is that of kube-apiserver: an object is validated before its name is
 * checked for conflicts, but its resourceVersion is compared before the rest of it is validated.
 */

/** What a create does. @throws DomainError `validation_failed`, or `conflict` where `current` exists */
export function applyCreate<K extends Kind>(
  current: Resource<K> | undefined,
  sent: NewResource<K>,
  stamp: WriteStamp,
): Change<K> {
  const metadata = parseMetadata(sent, stamp.namespace);
  if (metadata.resourceVersion !== undefined) {
    throw refuse(sent, [{ path: 'metadata.resourceVersion', message: 'must not be set when an object is created' }]);
  }
  const spec = parseSpec(sent);
  if (current !== undefined) throw conflict(`${describe(sent.kind, metadata.name)} already exists`);
  const assigned: ObjectMeta = {
    name: metadata.name,
    namespace: stamp.namespace,
    uid: stamp.uid,
    resourceVersion: stamp.resourceVersion,
    generation: 1,
    creationTimestamp: timestamp(stamp.now),
  };
  const object = {
    apiVersion: API_VERSION,
    kind: sent.kind,
    metadata: { ...assigned, ...changeable(metadata) },
    spec,
    status: {},
  };
  return { type: 'added', object };
}

/** What an update of spec, labels, annotations and finalizers does. */
export function applyUpdate<K extends Kind>(
  current: Resource<K> | undefined,
  sent: Resource<K>,
  stamp: WriteStamp,
): Change<K> | undefined {
  const stored = sameState(current, sent);
  const metadata = parseMetadata(sent, stamp.namespace);
  refuseNewFinalizers(stored, metadata, sent);
  const spec = parseSpec(sent);
  const generation = stored.metadata.generation + (isDeepStrictEqual(spec, stored.spec) ? 0 : 1);
  const { labels: _l, annotations: _a, finalizers: _f, ...assigned } = stored.metadata;
  const next = { ...stored, metadata: { ...assigned, generation, ...changeable(metadata) }, spec };
  if (next.metadata.deletionTimestamp !== undefined && next.metadata.finalizers === undefined) {
    return { type: 'deleted', object: stamped(next, stamp) };
  }
  return isDeepStrictEqual(next, stored) ? undefined : { type: 'modified', object: stamped(next, stamp) };
}

/** What an update of the status does: spec and metadata stay as they are stored. */
export function applyStatus<K extends Kind>(
  current: Resource<K> | undefined,
  sent: Resource<K>,
  stamp: WriteStamp,
): Change<K> | undefined {
  const stored = sameState(current, sent);
  const status = parseStatus(sent);
  if (isDeepStrictEqual(status, stored.status)) return undefined;
  return { type: 'modified', object: stamped({ ...stored, status }, stamp) };
}

/**
 * What a delete does: while finalizers hold the object it is only marked, once, which counts as a change of its spec.
 */
export function applyDelete<K extends Kind>(
  current: Resource<K> | undefined,
  wanted: { kind: K; name: string; preconditions?: Preconditions | undefined },
  stamp: WriteStamp,
): Change<K> | undefined {
  if (current === undefined) throw missing(wanted.kind, wanted.name);
  meetPreconditions(current, wanted.preconditions ?? {});
  const { metadata } = current;
  if (metadata.finalizers === undefined) return { type: 'deleted', object: stamped(current, stamp) };
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const marked = { ...metadata, generation: metadata.generation + 1, deletionTimestamp: timestamp(stamp.now) };
  return { type: 'modified', object: stamped({ ...current, metadata: marked }, stamp) };
}

/** The stored object, if it exists and is in the state that the caller has seen. */
function sameState<K extends Kind>(current: Resource<K> | undefined, sent: Resource<K>): Resource<K> {
  const { name, uid, resourceVersion } = sent.metadata;
  if (current === undefined) throw missing(sent.kind, name);
  if (!resourceVersion)
    throw refuse(sent, [{ path: 'metadata.resourceVersion', message: 'is required for an update' }]);
  meetPreconditions(current, uid ? { uid, resourceVersion } : { resourceVersion });
  return current;
}

function meetPreconditions(current: Resource, { uid, resourceVersion }: Preconditions): void {
  const { kind, metadata } = current;
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      `${describe(kind, metadata.name)} is not the object that was read: it was deleted and created again`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(`${describe(kind, metadata.name)} has changed since it was read: read it again and retry`);
  }
}

function refuseNewFinalizers(stored: Resource, metadata: SentMetadata, sent: Resource): void {
  if (stored.metadata.deletionTimestamp === undefined) return;
  const added = (metadata.finalizers ?? []).filter((finalizer) => !stored.metadata.finalizers?.includes(finalizer));
  if (added.length === 0) return;
  throw refuse(sent, [
    { path: 'metadata.finalizers', message: `must not grow while the object is being deleted: ${added.join(', ')}` },
  ]);
}

/** The part of the metadata that is the callers'; what is empty is absent, as in Kubernetes. */
function changeable(sent: SentMetadata): Pick<ObjectMeta, 'finalizers' | 'labels' | 'annotations'> {
  const { finalizers, labels, annotations } = sent;
  return {
    ...(finalizers !== undefined && finalizers.length > 0 && { finalizers }),
    ...(labels !== undefined && Object.keys(labels).length > 0 && { labels }),
    ...(annotations !== undefined && Object.keys(annotations).length > 0 && { annotations }),
  };
}

function stamped<K extends Kind>(object: Resource<K>, stamp: WriteStamp): Resource<K> {
  return { ...object, metadata: { ...object.metadata, resourceVersion: stamp.resourceVersion } };
}

function missing(kind: Kind, name: string): Error {
  return notFound(`${describe(kind, name)} does not exist`);
}

/** Kubernetes' own form: RFC 3339, whole seconds. */
function timestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
