import { encodeCursor } from '../http/cursor.ts';
import { isoTime } from '../object-access/shape.ts';
import type { StoredAuditRecord } from './audit-record.ts';
import type { AuditExportQuery, AuditPage, AuditPageQuery, AuditRecordView } from './audit-schemas.ts';
import type { AuditQuery, AuditStore } from './audit-store.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/** Records that an export reads at a time. */
const EXPORT_AT_ONCE = 1000;

/** Audit records, newest first. */
export class AuditService {
  readonly #store: AuditStore;

  constructor(store: AuditStore) {
    this.#store = store;
  }

  /** One page. */
  async page(query: AuditPageQuery): Promise<AuditPage> {
    const limit = query.limit ?? MANAGER_LIMITS.pageSize;
    const [before] = query.cursor ?? [];
    // One extra entry shows whether there is another page.
    const found = await this.#store.query({ ...filtersOf(query), limit: limit + 1, before });
    const records = found.slice(0, limit);
    const last = records.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    return {
      data: {
        records: records.map(recordView),
        pagination: { limit, hasMore, ...(hasMore ? { next: nextPath(query, limit, encodeCursor([last.id])) } : {}) },
      },
    };
  }

  /** All records as lines of JSON, read in small steps as the caller reads them. */
  async *lines(query: AuditExportQuery): AsyncGenerator<Buffer> {
    for (let before: number | undefined; ;) {
      const found: StoredAuditRecord[] = await this.#store.query({
        ...filtersOf(query),
        limit: EXPORT_AT_ONCE,
        before,
      });
      if (found.length > 0)
        yield Buffer.from(found.map((record) => `${JSON.stringify(recordView(record))}\n`).join(''));
      if (found.length < EXPORT_AT_ONCE) return;
      before = found.at(-1)?.id;
    }
  }
}

function filtersOf({ actor, action, objectId, since, until }: AuditExportQuery): Omit<AuditQuery, 'limit'> {
  const time = (text: string | undefined): number | undefined => (text === undefined ? undefined : Date.parse(text));
  return { actor, action, objectId, since: time(since), until: time(until) };
}

function recordView({ id, timestamp, ...record }: StoredAuditRecord): AuditRecordView {
  return { id: String(id), timestamp: isoTime(timestamp), ...record };
}

function nextPath({ actor, action, objectId, since, until }: AuditPageQuery, limit: number, cursor: string): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ actor, action, objectId, since, until }))
    if (value !== undefined) parameters.set(name, value);
  parameters.set('limit', String(limit));
  parameters.set('cursor', cursor);
  return `/api/audit?${parameters.toString()}`;
}
