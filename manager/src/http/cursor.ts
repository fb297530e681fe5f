import { z } from 'zod';
import { MANAGER_LIMITS } from '../limits.ts';

/** As `String` writes the numbers of a position. */
const NUMBER = '-?[0-9]{1,16}([.][0-9]{1,20})?';

/** The opaque text of a position: entries that are added or removed meanwhile do not move it. */
export function encodeCursor(position: readonly number[]): string {
  return position.join('_');
}

/** What `encodeCursor` makes of so many numbers. The document has the same pattern. */
function cursorSchema(length: number): z.ZodType<number[], string> {
  return z
    .string()
    .regex(new RegExp(`^${Array<string>(length).fill(NUMBER).join('_')}$`), 'is not a cursor of an earlier answer')
    .transform((text) => text.split('_').map(Number))
    .describe('From a previous answer; opaque');
}

/** Of a list's query. */
const limitSchema = z
  .string()
  .regex(/^\d{1,4}$/, `must be a whole number from 1 to ${MANAGER_LIMITS.maxPageSize}`)
  .transform(Number)
  .pipe(z.int().min(1).max(MANAGER_LIMITS.maxPageSize))
  // In a query a number is its digits.
  .meta({ type: 'integer', minimum: 1, maximum: MANAGER_LIMITS.maxPageSize, pattern: undefined });

/** Of the query of a list that comes in pages. @param length of the position: how many numbers it is. */
export function pageQuery(length: number) {
  return { limit: limitSchema.optional(), cursor: cursorSchema(length).optional() };
}

/** Of a page of a list. */
export const paginationSchema = z.strictObject({
  limit: z.int(),
  hasMore: z.boolean(),
  next: z.string().optional().describe('Relative path of the next page'),
});
