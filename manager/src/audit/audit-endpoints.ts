import { endpoint } from '../http/endpoint.ts';
import { auditExportQuerySchema, auditPageSchema, auditQuerySchema } from './audit-schemas.ts';

const common = { tag: 'Audit', permission: 'administer', method: 'get', status: 200 } as const;

export const auditEndpoints = {
  query: endpoint({
    ...common,
    operationId: 'queryAudit',
    path: '/api/audit',
    summary: 'Query audit records, newest first',
    query: auditQuerySchema,
    reply: { json: auditPageSchema },
    errors: ['forbidden'],
  }),
  export: endpoint({
    ...common,
    operationId: 'exportAudit',
    path: '/api/audit/export',
    summary: 'Get all audit records, newest first, one per line',
    query: auditExportQuerySchema,
    reply: {
      bytes: {
        type: 'application/x-ndjson',
        description: 'One JSON object per line, as in the list; an answer that is cut short has failed',
      },
    },
    errors: ['forbidden'],
  }),
};
