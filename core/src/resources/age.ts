import { CREATED_AT, type ObjectMeta } from './meta.ts';

/**
 * When the object was first made, in milliseconds since 1970 UTC: its annotation, which survives a restore, else its
 * timestamp. For people only: whoever writes the object can write any time there.
 */
export function createdAt(resource: { metadata: ObjectMeta }): number {
  const annotation = resource.metadata.annotations?.[CREATED_AT];
  if (annotation !== undefined && /^\d{1,15}$/.test(annotation)) return Number(annotation);
  return Date.parse(resource.metadata.creationTimestamp);
}

interface Aged {
  metadata: Pick<ObjectMeta, 'name' | 'creationTimestamp'>;
}

/**
 * Sorts the oldest first, by the timestamp that the store assigns: where age decides who has something, nobody may
 * backdate it. Of the same age the smaller name, by code points.
 */
export function byAge({ metadata: a }: Aged, { metadata: b }: Aged): number {
  return compare(a.creationTimestamp, b.creationTimestamp) || compare(a.name, b.name);
}

/** The first by `byAge`. */
export function oldest<T extends Aged>(all: readonly T[]): T | undefined {
  return all.reduce<T | undefined>((a, b) => (a === undefined || byAge(b, a) < 0 ? b : a), undefined);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
