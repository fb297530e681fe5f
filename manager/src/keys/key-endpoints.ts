import { endpoint } from '../http/endpoint.ts';
import { successSchema } from '../resources/shape.ts';
import {
  KEY_READ_ONLY,
  keyCreatedSchema,
  keyCreateSchema,
  keyListQuerySchema,
  keyListSchema,
  keyQuerySchema,
  keyReplySchema,
  keyUpdateSchema,
} from './key-schemas.ts';

const common = { tag: 'API keys', permission: 'manage' } as const;

export const keyEndpoints = {
  list: endpoint({
    ...common,
    operationId: 'listKeys',
    method: 'get',
    path: '/api/keys',
    summary: 'List keys, by name',
    query: keyListQuerySchema,
    status: 200,
    reply: { json: keyListSchema },
    errors: ['not_found'],
  }),
  create: endpoint({
    ...common,
    operationId: 'createKey',
    method: 'post',
    path: '/api/keys',
    summary: 'Create a key; the answer holds its value',
    body: { kind: 'json', schema: keyCreateSchema, readOnly: KEY_READ_ONLY },
    status: 201,
    reply: { json: keyCreatedSchema },
    errors: ['conflict'],
  }),
  get: endpoint({
    ...common,
    operationId: 'getKey',
    method: 'get',
    path: '/api/keys/:keyId',
    summary: 'Get a key and its group',
    query: keyQuerySchema,
    status: 200,
    reply: { json: keyReplySchema },
    errors: ['not_found'],
  }),
  update: endpoint({
    ...common,
    operationId: 'updateKey',
    method: 'put',
    path: '/api/keys/:keyId',
    summary: 'Change a key',
    body: { kind: 'json', schema: keyUpdateSchema, readOnly: KEY_READ_ONLY },
    status: 200,
    reply: { json: successSchema },
    errors: ['not_found', 'conflict'],
  }),
  remove: endpoint({
    ...common,
    operationId: 'deleteKey',
    method: 'delete',
    path: '/api/keys/:keyId',
    summary: 'Delete a key; it is refused at once',
    status: 200,
    reply: { json: successSchema },
    errors: ['not_found'],
  }),
};
