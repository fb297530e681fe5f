import { endpoint } from '../http/endpoint.ts';
import {
  logEntrySchema,
  logPageSchema,
  logQuerySchema,
  logsDeletedSchema,
  logStreamQuerySchema,
} from './log-schemas.ts';

const common = { tag: 'Logs' } as const;

export const logEndpoints = {
  query: endpoint({
    ...common,
    permission: 'read',
    operationId: 'queryLogs',
    method: 'get',
    path: '/api/logs',
    summary: 'Query log entries, newest first',
    query: logQuerySchema,
    status: 200,
    reply: { json: logPageSchema },
    errors: ['not_found'],
  }),
  stream: endpoint({
    ...common,
    permission: 'read',
    operationId: 'streamLogs',
    method: 'get',
    path: '/api/logs/stream',
    summary: 'Receive log entries as they arrive',
    query: logStreamQuerySchema,
    status: 200,
    reply: {
      events: { data: logEntrySchema, description: 'An event for each entry, whose id is the id of the event' },
    },
    errors: ['not_found'],
  }),
  remove: endpoint({
    ...common,
    permission: 'edit',
    operationId: 'deleteLogs',
    method: 'delete',
    path: '/api/logs/:functionId',
    summary: 'Delete all log entries of a function',
    audit: { action: 'logs.delete', kind: 'Function', id: 'functionId' },
    status: 200,
    reply: { json: logsDeletedSchema },
    errors: ['not_found'],
  }),
};
