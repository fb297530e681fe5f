import { z } from 'zod';
import { LOG_LEVELS } from '@wherry/core/ports/telemetry.ts';
import { pageQuery, paginationSchema } from '../http/cursor.ts';
import { timeSchema } from '../object-access/shape.ts';
import { MANAGER_LIMITS } from '../limits.ts';

const levels = z
  .string()
  .transform((text) => text.split(',').map((level) => level.trim()))
  .pipe(z.array(z.enum(LOG_LEVELS)).min(1))
  .transform((list) => [...new Set(list)])
  .describe('Comma-separated levels')
  .meta({ pattern: `^(${LOG_LEVELS.join('|')})(,(${LOG_LEVELS.join('|')}))*$` });

/** Any letter or digit: the index holds nothing else. */
const WORDS = /[\p{L}\p{N}]+/gu;
const wordsIn = (text: string): number => text.match(WORDS)?.length ?? 0;
const words = z
  .string()
  .max(256, 'must have at most 256 characters')
  .transform((text) => text.split(/[\s\0]+/).filter((word) => wordsIn(word) > 0))
  .refine((list) => list.length > 0, 'must contain a word of letters or digits')
  .refine(
    (list) => wordsIn(list.join(' ')) <= MANAGER_LIMITS.searchWords,
    `must contain at most ${MANAGER_LIMITS.searchWords} words`,
  )
  .describe(
    `At most ${MANAGER_LIMITS.searchWords} words, ignoring case; an entry matches if its message or arguments contain all of them`,
  )
  .meta({ minLength: 1, maxLength: 256 });

const filters = {
  functionId: z.string().min(1).max(63).optional(),
  level: levels.optional(),
};
const time = z.iso.datetime({ offset: true });

export const logQuerySchema = z.strictObject({
  ...filters,
  // Timestamp, sequence and id of the last entry.
  ...pageQuery(3),
  requestId: z.string().min(1).max(128).optional(),
  search: words.optional(),
  since: time.optional().describe('Entries from this time on'),
  until: time.optional().describe('Entries before this time'),
});
export const logStreamQuerySchema = z.strictObject(filters);
export type LogStreamQuery = z.output<typeof logStreamQuerySchema>;
export type LogsQuery = z.output<typeof logQuerySchema>;

export const logEntrySchema = z
  .strictObject({
    id: z.string(),
    requestId: z.string(),
    functionId: z.string(),
    level: z.enum(LOG_LEVELS),
    message: z.string(),
    args: z.string().nullable().describe('JSON: an object for exec_*, else an array of the arguments after the first'),
    sequence: z.int(),
    timestamp: timeSchema,
  })
  .meta({ id: 'LogEntry' });
export type LogEntryView = z.output<typeof logEntrySchema>;

export const logsDeletedSchema = z.strictObject({
  data: z.strictObject({ deleted: z.int().describe('How many entries were deleted'), functionId: z.string() }),
});

export const logPageSchema = z.strictObject({
  data: z.strictObject({
    logs: z.array(logEntrySchema),
    pagination: paginationSchema,
  }),
});
export type LogPage = z.output<typeof logPageSchema>;
