import { KINDS, type Kind, type Resource } from '@wherry/core/resources/kinds.ts';
import { API_VERSION, type ObjectMeta } from '@wherry/core/resources/meta.ts';
import type { KubeObject } from '../client/kube-object.ts';

/** A custom resource as the API server sends it. */
export interface CustomObject extends KubeObject {
  spec?: unknown;
  status?: unknown;
}

/** What does not match the schema of its kind: most likely the object comes from another version of Wherry. */
type Complaint = (raw: CustomObject, part: 'spec' | 'status') => void;

/**
 * The object as a store returns it: our metadata only, the spec with its defaults. A spec that this version does not
 * understand is returned as it is (if it were left out, its function would seem deleted); such a status is returned as
 * empty.
 */
export function toResource<K extends Kind>(kind: K, raw: CustomObject, complain: Complaint): Resource<K> {
  const definition = KINDS[kind];
  const spec = definition.spec.safeParse(raw.spec);
  const status = definition.status.safeParse(raw.status ?? {});
  if (!spec.success) complain(raw, 'spec');
  if (!status.success) complain(raw, 'status');
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: toMeta(raw.metadata),
    spec: spec.success ? plain(spec.data) : (raw.spec ?? {}),
    status: status.success ? written(plain(status.data)) : {},
  };
}

/**
 * The object to write: what others maintain in it (owners, managed fields) stays; spec and callers' metadata are
 * replaced.
 */
export function toCustomObject(raw: CustomObject, { metadata, spec, status }: Resource): CustomObject {
  const { labels: _l, annotations: _a, finalizers: _f, ...kept } = raw.metadata;
  return { ...raw, metadata: { ...kept, ...callersPart(metadata) }, spec, status };
}

/** Labels, annotations and finalizers, where there are any. */
export function callersPart({
  labels,
  annotations,
  finalizers,
}: Pick<ObjectMeta, 'labels' | 'annotations' | 'finalizers'>): Pick<
  ObjectMeta,
  'labels' | 'annotations' | 'finalizers'
> {
  return {
    ...(labels !== undefined && Object.keys(labels).length > 0 && { labels }),
    ...(annotations !== undefined && Object.keys(annotations).length > 0 && { annotations }),
    ...(finalizers !== undefined && finalizers.length > 0 && { finalizers }),
  };
}

function toMeta(raw: KubeObject['metadata']): ObjectMeta {
  return {
    name: raw.name,
    namespace: raw.namespace ?? '',
    uid: raw.uid,
    resourceVersion: raw.resourceVersion,
    generation: raw.generation ?? 1,
    creationTimestamp: raw.creationTimestamp ?? '',
    ...(raw.deletionTimestamp !== undefined && { deletionTimestamp: raw.deletionTimestamp }),
    ...callersPart(raw),
  };
}

/** The API server's default for an object that the operator has not seen yet means nothing. */
function written<S extends { observedGeneration?: number | undefined }>(status: S): S {
  const { observedGeneration, ...rest } = status;
  return observedGeneration === -1 ? (rest as S) : status;
}

/** Without `undefined` fields, as JSON reads back. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
