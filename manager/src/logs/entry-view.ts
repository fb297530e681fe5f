import type { StoredLogEntry } from '../log-store/telemetry-store.ts';
import { isoTime } from '../object-access/shape.ts';
import type { LogEntryView } from './log-schemas.ts';

/** An entry as the API shows it. */
export function entryView(entry: StoredLogEntry): LogEntryView {
  const { id, requestId, functionName, level, message, args, sequence, timestamp } = entry;
  return {
    id: String(id),
    requestId,
    functionId: functionName,
    level,
    message,
    args,
    sequence,
    timestamp: isoTime(timestamp),
  };
}
