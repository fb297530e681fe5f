import { z } from 'zod';
import { LOG_LEVELS } from '@wherry/core/ports/telemetry.ts';
import { pageQuery, paginationSchema } from '../http/cursor.ts';
import { timeSchema } from '../object-access/shape.ts';

const levels = z
  .string()
  .transform((text) => text.split(',').map((level) => level.trim()))
  .pipe(z.array(z.enum(LOG_LEVELS)).min(1))
  .transform((list) => [...new Set(list)])
  .describe('Comma-separated levels')
  .meta({ pattern: `^(${LOG_LEVELS.join('|')})(,(${LOG_LEVELS.join('|')}))*$` });

export const logQuerySchema = z.strictObject({
  functionId: z.string().min(1).max(63).optional(),
  level: levels.optional(),
  ...pageQuery,
  requestId: z.string().min(1).max(128).optional(),
});
export type LogsQuery = z.output<typeof logQuerySchema>;

export const logPageSchema = z.strictObject({
  data: z.strictObject({
    logs: z.array(
      z.strictObject({
        id: z.string(),
        requestId: z.string(),
        functionId: z.string(),
        level: z.enum(LOG_LEVELS),
        message: z.string(),
        args: z
          .string()
          .nullable()
          .describe('JSON: an object for exec_*, else an array of the arguments after the first'),
        sequence: z.int(),
        timestamp: timeSchema,
      }),
    ),
    pagination: paginationSchema,
  }),
});
export type LogPage = z.output<typeof logPageSchema>;
