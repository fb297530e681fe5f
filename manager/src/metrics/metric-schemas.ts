import { z } from 'zod';
import { timeSchema } from '../object-access/shape.ts';
import { RESOLUTIONS } from '../metric-store/metric-store.ts';

export const metricsQuerySchema = z.strictObject({
  resolution: z
    .enum(RESOLUTIONS)
    .describe('The last 60 minutes, the last 24 hours, or the days of metrics.retention-days'),
  functionId: z.string().min(1).max(63).optional().describe('Only executions of this function'),
  groupBy: z.literal('function').optional().describe('Metrics of each function, not of all together'),
  since: z.iso.datetime({ offset: true }).optional().describe('Periods that begin at this time or later'),
  until: z.iso.datetime({ offset: true }).optional().describe('Periods that begin before this time'),
});
export type MetricsRequest = z.output<typeof metricsQuerySchema>;

const count = z.int().min(0);
const ms = z.number().min(0);

const periodSchema = z
  .strictObject({
    timestamp: timeSchema.describe('When the period begins'),
    executionCount: count.describe('Calls that reached an instance'),
    errorCount: count.describe('Executions that threw, crashed or timed out'),
    avgTimeMs: ms,
    maxTimeMs: ms,
    p50TimeMs: ms.describe('Within 1 %, like the other percentiles'),
    p95TimeMs: ms,
    p99TimeMs: ms,
  })
  .meta({ id: 'MetricsPeriod' });
export type MetricsPeriod = z.output<typeof periodSchema>;

const seriesSchema = z.strictObject({
  metrics: z.array(periodSchema).describe('Oldest first, without periods that had no execution'),
  functionId: z.string().nullable(),
  resolution: z.enum(RESOLUTIONS),
  summary: z.strictObject({
    totalExecutions: count,
    totalErrors: count,
    avgExecutionTime: ms,
    maxExecutionTime: ms,
    periodCount: count,
  }),
});
const byFunctionSchema = z.strictObject({
  functions: z
    .record(z.string(), z.array(periodSchema))
    .describe('By function id; those without executions are missing'),
  resolution: z.enum(RESOLUTIONS),
});

export const metricsReplySchema = z.strictObject({
  data: z.union([seriesSchema, byFunctionSchema]).describe('The second form with groupBy=function'),
});
export type MetricsReply = z.output<typeof metricsReplySchema>;
