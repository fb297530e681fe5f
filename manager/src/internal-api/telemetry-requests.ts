import type { IncomingMessage, ServerResponse } from 'node:http';
import { DomainError, invalid } from '@wherry/core/errors.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { LOG_LEVELS, type LogEntry, type TelemetrySink } from '@wherry/core/ports/telemetry.ts';
import { z } from 'zod';
import { mediaType, readBytes, refuseEncoding } from '../http/json-body.ts';
import { sendJson } from '../http/reply.ts';

/** Of a batch. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;
const MAX_ENTRIES = 10_000;

/** The operator has set the function of each entry, by the connection on which it arrived. */
const logEntrySchema: z.ZodType<LogEntry> = z.object({
  functionName: z.string().min(1).max(253),
  requestId: z.string().max(256),
  level: z.enum(LOG_LEVELS),
  message: z.string(),
  args: z.string().nullable(),
  sequence: z.int(),
  timestamp: z.number().min(0).max(Number.MAX_SAFE_INTEGER),
});

interface TelemetryDependencies {
  telemetry: TelemetrySink;
  logger: Logger;
}

/**
 * Takes a batch of log entries: JSON (an array) or a line of JSON each (`application/x-ndjson`). Entries that are not
 * valid are left out and counted; the batch is not refused because of them, since its entries belong to many functions.
 */
export async function takeTelemetry(
  request: IncomingMessage,
  response: ServerResponse,
  { telemetry, logger }: TelemetryDependencies,
): Promise<void> {
  const batch = await readBatch(request);
  if (batch.length > MAX_ENTRIES)
    throw new DomainError('too_large', `A batch may have at most ${MAX_ENTRIES} entries.`);
  const entries = batch.flatMap((one) => logEntrySchema.safeParse(one).data ?? []);
  const refused = batch.length - entries.length;
  if (refused > 0) logger.warn({ refused, accepted: entries.length }, 'invalid log entries were dropped');
  if (entries.length > 0) telemetry.write(entries);
  sendJson(response, 202, { accepted: entries.length, refused });
}

async function readBatch(request: IncomingMessage): Promise<unknown[]> {
  refuseEncoding(request);
  const type = mediaType(request);
  if (type !== 'application/json' && type !== 'application/x-ndjson') {
    throw new DomainError(
      'unsupported_media_type',
      'Log entries are JSON: send Content-Type: application/json or application/x-ndjson.',
    );
  }
  const text = (await readBytes(request, MAX_BATCH_BYTES)).toString('utf8');
  if (type === 'application/x-ndjson')
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map(jsonOrNothing);
  const batch = jsonOrNothing(text);
  if (!Array.isArray(batch)) throw invalid('The body must be an array of log entries.');
  return batch as unknown[];
}

function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
