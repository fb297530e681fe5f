import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';

export const openapiEndpoints = {
  get: endpoint({
    tag: 'About',
    permission: 'read',
    operationId: 'getOpenapi',
    method: 'get',
    path: '/api/openapi.json',
    summary: 'This document',
    status: 200,
    reply: { json: z.looseObject({ openapi: z.string() }) },
    errors: [],
  }),
};
