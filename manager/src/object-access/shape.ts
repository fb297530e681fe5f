import { z } from 'zod';
import { createdAt } from '@wherry/core/resources/age.ts';
import { displayName, type Kind } from '@wherry/core/resources/kinds.ts';
import { nameSchema, UPDATED_AT, type ObjectMeta } from '@wherry/core/resources/meta.ts';
import { inDocument } from '../http/patterns.ts';

/** Milliseconds since 1970 UTC as the API writes times. */
export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** A time of a status (RFC 3339) as the API writes times; null for none. */
export function isoOrNull(time: string | undefined): string | null {
  const milliseconds = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(milliseconds) ? null : isoTime(milliseconds);
}

/** `createdAt` and `updatedAt` of an object. */
export function timesOf(resource: { metadata: ObjectMeta }): { createdAt: string; updatedAt: string } {
  const created = createdAt(resource);
  const updated = resource.metadata.annotations?.[UPDATED_AT];
  const known = updated !== undefined && /^\d{1,15}$/.test(updated);
  return { createdAt: isoTime(created), updatedAt: isoTime(known ? Number(updated) : created) };
}

/** An object in an audit record. */
export function actedOn(resource: Parameters<typeof displayName>[0]): { kind: Kind; id: string; name: string } {
  return { kind: resource.kind, id: resource.metadata.name, name: displayName(resource) };
}

/** Whether a path's or body's id can be the id of anything. */
export function isId(id: string): boolean {
  return nameSchema.safeParse(id).success;
}

/** Sorts by name in code points, then by id: the order of every list. */
export function byName<T extends { name: string; id: string }>(a: T, b: T): number {
  return compareCodePoints(a.name, b.name) || compareCodePoints(a.id, b.id);
}

/** `<` on strings compares UTF-16 units, which differs from code points above U+FFFF; UTF-8 bytes do not. */
export function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Whether an update sets anything: `{}` is refused. */
export function setsSomething(body: object): boolean {
  return Object.values(body).some((value) => value !== undefined);
}

export const SETS_NOTHING = { message: 'must set at least one field', params: inDocument({ minProperties: 1 }) };

/**
 * A field of an update that is fixed after creation: it may be sent unchanged, so the document calls it read-only.
 */
export const fixedSchema = z
  .string()
  .optional()
  .describe('Cannot be changed after creation; may be sent unchanged')
  .meta({ readOnly: true });

/** The query parameter `includeValues` of a list. */
export const includeValuesSchema = z
  .enum(['true', 'false'])
  .optional()
  .transform((value) => value === 'true')
  .describe('Whether to include the values; each such read leaves an audit record');

export const timeSchema = z.iso.datetime().describe('ISO 8601, UTC, milliseconds');
export const successSchema = z.strictObject({ success: z.literal(true) });
export const SUCCESS = { success: true } as const;
