import { z } from 'zod';
import { refused } from './validate.ts';

/** The opaque text of a position: entries that are added or removed meanwhile do not move it. */
export function encodeCursor(position: readonly number[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** @throws DomainError `validation_failed` for anything but what `encodeCursor` made. */
export function decodeCursor<S extends z.ZodType>(cursor: string, schema: S): z.output<S> {
  const position = schema.safeParse(parse(cursor));
  if (!position.success) throw refused([{ path: 'cursor', message: 'is not a cursor of an earlier answer' }], 'query');
  return position.data;
}

/** Of a list's query: from 1 to 1000. */
const limitSchema = z
  .string()
  .regex(/^\d{1,4}$/, 'must be a whole number from 1 to 1000')
  .transform(Number)
  .pipe(z.int().min(1).max(1000))
  // In a query a number is its digits.
  .meta({ type: 'integer', minimum: 1, maximum: 1000, pattern: undefined });

/** Of the query of a list that comes in pages. */
export const pageQuery = {
  limit: limitSchema.optional(),
  cursor: z.string().min(1).max(512).optional().describe('From a previous answer; opaque'),
};

/** Of a page of a list. */
export const paginationSchema = z.strictObject({
  limit: z.int(),
  hasMore: z.boolean(),
  next: z.string().optional().describe('Relative path of the next page'),
});

function parse(cursor: string): unknown {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor)) return undefined;
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
