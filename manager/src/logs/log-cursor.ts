import { z } from 'zod';
import { refused } from '../http/validate.ts';
import type { LogPosition } from '../telemetry/telemetry-store.ts';

const positionSchema = z.tuple([z.number().min(0), z.int(), z.int().min(0)]);

/** The opaque text of a position: entries that come or go meanwhile do not move it. */
export function encodeCursor({ timestamp, sequence, id }: LogPosition): string {
  return Buffer.from(JSON.stringify([timestamp, sequence, id])).toString('base64url');
}

/** @throws DomainError `validation_failed` for anything but what `encodeCursor` made. */
export function decodeCursor(cursor: string): LogPosition {
  const position = positionSchema.safeParse(parse(cursor));
  if (!position.success) throw refused([{ path: 'cursor', message: 'is not a cursor of an earlier answer' }], 'query');
  const [timestamp, sequence, id] = position.data;
  return { timestamp, sequence, id };
}

function parse(cursor: string): unknown {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor)) return undefined;
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
