import { endpoint } from '../http/endpoint.ts';
import { successSchema } from '../object-access/shape.ts';
import {
  GROUP_READ_ONLY,
  groupCreatedSchema,
  groupCreateSchema,
  groupListSchema,
  groupUpdateSchema,
  groupViewSchema,
} from './key-group-schemas.ts';

const common = { tag: 'API key groups', permission: 'manage' } as const;

export const keyGroupEndpoints = {
  list: endpoint({
    ...common,
    operationId: 'listKeyGroups',
    method: 'get',
    path: '/api/key-groups',
    summary: 'List all groups, by name',
    status: 200,
    reply: { json: groupListSchema },
    errors: [],
  }),
  create: endpoint({
    ...common,
    operationId: 'createKeyGroup',
    method: 'post',
    path: '/api/key-groups',
    summary: 'Create a group',
    audit: { action: 'key-group.create', kind: 'KeyGroup' },
    body: { kind: 'json', schema: groupCreateSchema, readOnly: GROUP_READ_ONLY },
    status: 201,
    reply: { json: groupCreatedSchema },
    errors: ['conflict'],
  }),
  get: endpoint({
    ...common,
    operationId: 'getKeyGroup',
    method: 'get',
    path: '/api/key-groups/:groupId',
    summary: 'Get a group',
    status: 200,
    reply: { json: groupViewSchema },
    errors: ['not_found'],
  }),
  update: endpoint({
    ...common,
    operationId: 'updateKeyGroup',
    method: 'put',
    path: '/api/key-groups/:groupId',
    summary: 'Change the description of a group',
    audit: { action: 'key-group.update', kind: 'KeyGroup', id: 'groupId' },
    body: { kind: 'json', schema: groupUpdateSchema, readOnly: GROUP_READ_ONLY },
    status: 200,
    reply: { json: successSchema },
    errors: ['not_found', 'conflict'],
  }),
  remove: endpoint({
    ...common,
    operationId: 'deleteKeyGroup',
    method: 'delete',
    path: '/api/key-groups/:groupId',
    summary: 'Delete a group that has no keys and that nothing refers to',
    audit: { action: 'key-group.delete', kind: 'KeyGroup', id: 'groupId' },
    status: 200,
    reply: { json: successSchema },
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
};
