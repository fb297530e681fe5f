import { z } from 'zod';
import { notFound } from '@wherry/core/errors.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { decodeCursor, encodeCursor } from '../http/cursor.ts';
import { isId, isoTime } from '../object-access/shape.ts';
import type { LogPosition, StoredLogEntry, TelemetryStore } from '../log-store/telemetry-store.ts';
import type { LogPage, LogsQuery } from './log-schemas.ts';

const DEFAULT_LIMIT = 50;
/** Timestamp, sequence and id of the last entry of a page. */
const positionSchema = z.tuple([z.number().min(0), z.int(), z.int().min(0)]);

/** Log entries, newest first. */
export class LogService {
  readonly #store: ResourceStore;
  readonly #telemetry: TelemetryStore;

  constructor(options: { store: ResourceStore; telemetry: TelemetryStore }) {
    this.#store = options.store;
    this.#telemetry = options.telemetry;
  }

  /**
   * One page.
   * @throws DomainError `validation_failed` for a bad cursor; `not_found` for a function that neither exists nor has
   *   left any entries: logs outlive their function.
   */
  async page(query: LogsQuery): Promise<LogPage> {
    const limit = query.limit ?? DEFAULT_LIMIT;
    const after = query.cursor === undefined ? undefined : positionOf(query.cursor);
    if (query.functionId !== undefined) await this.#requireKnown(query.functionId);
    const found = await this.#telemetry.query({
      functionName: query.functionId,
      requestId: query.requestId,
      levels: query.level,
      // One extra entry shows whether there is another page.
      limit: limit + 1,
      after,
    });
    const entries = found.slice(0, limit);
    const last = entries.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    return {
      data: {
        logs: entries.map(entryView),
        pagination: {
          limit,
          hasMore,
          ...(hasMore ? { next: nextPath(query, limit, encodeCursor([last.timestamp, last.sequence, last.id])) } : {}),
        },
      },
    };
  }

  async #requireKnown(id: string): Promise<void> {
    const exists = isId(id) && (await this.#store.get('Function', id)) !== undefined;
    if (exists || (await this.#telemetry.knows(id))) return;
    throw notFound(`There is no function with the id ${id}.`);
  }
}

function positionOf(cursor: string): LogPosition {
  const [timestamp, sequence, id] = decodeCursor(cursor, positionSchema);
  return { timestamp, sequence, id };
}

function entryView(entry: StoredLogEntry): LogPage['data']['logs'][number] {
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

function nextPath(query: LogsQuery, limit: number, cursor: string): string {
  const parameters = new URLSearchParams();
  if (query.functionId !== undefined) parameters.set('functionId', query.functionId);
  if (query.level !== undefined) parameters.set('level', query.level.join(','));
  if (query.requestId !== undefined) parameters.set('requestId', query.requestId);
  parameters.set('limit', String(limit));
  parameters.set('cursor', cursor);
  return `/api/logs?${parameters.toString()}`;
}
