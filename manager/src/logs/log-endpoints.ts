import { endpoint } from '../http/endpoint.ts';
import { logPageSchema, logQuerySchema } from './log-schemas.ts';

export const logEndpoints = {
  query: endpoint({
    tag: 'Logs',
    permission: 'manage',
    operationId: 'queryLogs',
    method: 'get',
    path: '/api/logs',
    summary: 'Query log entries, newest first',
    query: logQuerySchema,
    status: 200,
    reply: { json: logPageSchema },
    errors: ['not_found'],
  }),
};
