import { CREATED_AT, type ObjectMeta } from './resources/meta.ts';

/**
 * When the object was first made, in milliseconds since 1970 UTC: its annotation, which survives a restore, else its
 * timestamp.
 */
export function createdAt(resource: { metadata: ObjectMeta }): number {
  const annotation = resource.metadata.annotations?.[CREATED_AT];
  if (annotation !== undefined && /^\d{1,15}$/.test(annotation)) return Number(annotation);
  return Date.parse(resource.metadata.creationTimestamp);
}

/** Sorts the oldest first; of the same age the smaller name, by code points. */
export function byAge(a: { metadata: ObjectMeta }, b: { metadata: ObjectMeta }): number {
  return (
    createdAt(a) - createdAt(b) || (a.metadata.name < b.metadata.name ? -1 : Number(a.metadata.name > b.metadata.name))
  );
}
