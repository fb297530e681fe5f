import { endpoint } from '../http/endpoint.ts';
import { metricsQuerySchema, metricsReplySchema } from './metric-schemas.ts';

export const metricEndpoints = {
  query: endpoint({
    tag: 'Metrics',
    permission: 'read',
    operationId: 'queryMetrics',
    method: 'get',
    path: '/api/metrics',
    summary: 'Get metrics of executions by minute, hour or day',
    query: metricsQuerySchema,
    status: 200,
    reply: { json: metricsReplySchema },
    errors: ['not_found'],
  }),
};
