import type { IncomingMessage, ServerResponse } from 'node:http';
import { invalid } from '@wherry/core/errors.ts';
import { limitReportSchema } from '@wherry/core/feed/messages.ts';
import type { KeyLedger } from '@wherry/core/ports/key-ledger.ts';
import { nameSchema } from '@wherry/core/resources/meta.ts';
import { z } from 'zod';
import { readJson } from '../http/json-body.ts';
import { sendEmpty, sendJson } from '../http/reply.ts';
import { parsed } from './parsed.ts';

/** Of one request: some 100,000 keys. */
const MAX_BYTES = 16 * 1024 * 1024;

const usesSchema = z.record(nameSchema, z.number().min(0).max(Number.MAX_SAFE_INTEGER));

/** Takes down when keys were last used. */
export async function takeUses(
  request: IncomingMessage,
  response: ServerResponse,
  { keyLedger }: { keyLedger: KeyLedger },
): Promise<void> {
  keyLedger.used(parsed(usesSchema, await readJson(request, { limit: MAX_BYTES })));
  sendEmpty(response, 204);
}

/** Divides the limits that one router reports. */
export async function divideLimits(
  request: IncomingMessage,
  response: ServerResponse,
  { keyLedger }: { keyLedger: KeyLedger },
): Promise<void> {
  const report = limitReportSchema.safeParse(await readJson(request, { limit: MAX_BYTES }));
  if (!report.success) throw invalid('The body is not a valid report of limits.');
  sendJson(response, 200, await keyLedger.exchange(report.data));
}
