import { notFound } from '@wherry/core/errors.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { encodeCursor } from '../http/cursor.ts';
import { isId } from '../object-access/shape.ts';
import type { LogQuery, StoredLogEntry, TelemetryStore } from '../log-store/telemetry-store.ts';
import { entryView } from './entry-view.ts';
import type { LogPage, LogsQuery } from './log-schemas.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/** Log entries, newest first. */
export class LogService {
  readonly #store: ResourceStore;
  readonly #telemetry: TelemetryStore;

  constructor(options: { store: ResourceStore; telemetry: TelemetryStore }) {
    this.#store = options.store;
    this.#telemetry = options.telemetry;
  }

  /**
   * One page. A search goes back by arrival, for which it need not read all entries that have a common word; each of its
   * pages is newest first.
   * @throws DomainError `not_found` for a function that neither exists nor has left any entries: logs outlive their
   *   function.
   */
  async page(query: LogsQuery): Promise<LogPage> {
    const limit = query.limit ?? MANAGER_LIMITS.pageSize;
    await this.requireKnown(query.functionId);
    const found = await this.#telemetry.query({
      functionName: query.functionId,
      requestId: query.requestId,
      levels: query.level,
      words: query.search,
      since: timeOf(query.since),
      until: timeOf(query.until),
      // One extra entry shows whether there is another page.
      limit: limit + 1,
      ...positionOf(query),
    });
    const entries = found.slice(0, limit);
    const last = entries.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    const next = hasMore ? { next: nextPath(query, limit, cursorOf(last)) } : {};
    if (query.search !== undefined) entries.sort(newestFirst);
    return { data: { logs: entries.map(entryView), pagination: { limit, hasMore, ...next } } };
  }

  /**
   * Deletes all entries of a function that are there now.
   * @returns how many.
   * @throws DomainError `not_found`, as `page`.
   */
  async remove(functionId: string): Promise<number> {
    await this.requireKnown(functionId);
    return this.#telemetry.deleteFunction(functionId);
  }

  /** @throws DomainError `not_found`, as `page`. Undefined stands for all functions. */
  async requireKnown(id: string | undefined): Promise<void> {
    if (id === undefined) return;
    const exists = isId(id) && (await this.#store.get('Function', id)) !== undefined;
    if (exists || (await this.#telemetry.knows(id))) return;
    throw notFound(`There is no function with the id ${id}.`);
  }
}

const timeOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Date.parse(text));

/** A search goes back by arrival, whose order is that of the ids. */
function positionOf({ cursor, search }: LogsQuery): Pick<LogQuery, 'after' | 'afterId'> {
  if (cursor === undefined) return {};
  const [timestamp = 0, sequence = 0, id = 0] = cursor;
  return search === undefined ? { after: { timestamp, sequence, id } } : { afterId: id };
}

function cursorOf({ timestamp, sequence, id }: StoredLogEntry): string {
  return encodeCursor([timestamp, sequence, id]);
}

function newestFirst(a: StoredLogEntry, b: StoredLogEntry): number {
  return b.timestamp - a.timestamp || b.sequence - a.sequence || b.id - a.id;
}

function nextPath(query: LogsQuery, limit: number, cursor: string): string {
  const { functionId, level, requestId, search, since, until } = query;
  const parameters = new URLSearchParams();
  const filters = { functionId, level: level?.join(','), requestId, search: search?.join(' '), since, until };
  for (const [name, value] of Object.entries(filters)) if (value !== undefined) parameters.set(name, value);
  parameters.set('limit', String(limit));
  parameters.set('cursor', cursor);
  return `/api/logs?${parameters.toString()}`;
}
