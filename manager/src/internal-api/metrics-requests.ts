import type { IncomingMessage, ServerResponse } from 'node:http';
import { MAX_METRICS } from '@wherry/core/feed/messages.ts';
import type { MetricsBatch, MetricsSink } from '@wherry/core/ports/telemetry.ts';
import { z } from 'zod';
import { readJson } from '../http/json-body.ts';
import { sendJson } from '../http/reply.ts';
import { parsed } from './parsed.ts';

const MAX_BATCH_BYTES = 16 * 1024 * 1024;
const count = z.int().min(0);

const metricsBatchSchema: z.ZodType<MetricsBatch> = z.strictObject({
  sender: z.uuid(),
  sequence: z.int().min(1),
  metrics: z
    .array(
      z.strictObject({
        functionName: z.string().min(1).max(253),
        minute: count,
        count,
        errors: count,
        sumUs: count,
        maxUs: count,
        bins: z.array(z.int()),
      }),
    )
    .max(MAX_METRICS),
});

/** Stores a batch of metrics, and answers once it is stored: the router then sends the next one. */
export async function takeMetrics(
  request: IncomingMessage,
  response: ServerResponse,
  { executions }: { executions: MetricsSink },
): Promise<void> {
  await executions.record(parsed(metricsBatchSchema, await readJson(request, { limit: MAX_BATCH_BYTES })));
  sendJson(response, 200, { stored: true });
}
