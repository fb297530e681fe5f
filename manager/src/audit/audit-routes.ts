import { Readable } from 'node:stream';
import { routes, type Route } from '../http/endpoint.ts';
import { auditEndpoints } from './audit-endpoints.ts';
import type { AuditService } from './audit-service.ts';

export function auditRoutes(service: AuditService): Route[] {
  return routes(auditEndpoints, {
    query: async ({ query }) => ({ json: await service.page(query) }),
    export: async ({ query }) => ({
      headers: { 'Content-Type': 'application/x-ndjson', 'Content-Disposition': 'attachment; filename="audit.ndjson"' },
      bytes: Readable.from(service.lines(query), { objectMode: false }),
    }),
  });
}
