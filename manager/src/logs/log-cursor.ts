import { z } from 'zod';
import * as cursors from '../http/cursor.ts';
import type { LogPosition } from '../telemetry/telemetry-store.ts';

const positionSchema = z.tuple([z.number().min(0), z.int(), z.int().min(0)]);

export function encodeCursor({ timestamp, sequence, id }: LogPosition): string {
  return cursors.encodeCursor([timestamp, sequence, id]);
}

/** @throws DomainError `validation_failed` for anything but what `encodeCursor` made. */
export function decodeCursor(cursor: string): LogPosition {
  const [timestamp, sequence, id] = cursors.decodeCursor(cursor, positionSchema);
  return { timestamp, sequence, id };
}
