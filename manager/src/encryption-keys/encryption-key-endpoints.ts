import { endpoint } from '../http/endpoint.ts';
import { successSchema } from '../object-access/shape.ts';
import { encryptionKeyListSchema, rotatedSchema, rotationStatusSchema } from './encryption-key-schemas.ts';

const common = { tag: 'Encryption keys', permission: 'read', status: 200 } as const;
const rotation = { ...common, path: '/api/encryption-keys/rotation' } as const;

export const encryptionKeyEndpoints = {
  status: endpoint({
    ...rotation,
    operationId: 'getEncryptionKeyRotation',
    method: 'get',
    summary: 'Get the state of the rotation of the encryption keys',
    reply: { json: rotationStatusSchema },
    errors: [],
  }),
  rotate: endpoint({
    ...rotation,
    operationId: 'rotateEncryptionKey',
    permission: 'edit',
    method: 'post',
    summary: 'Rotate the encryption key, and wait until every value is encrypted again',
    headers: { Prefer: 'respond-async: answer 202 as soon as the rotation has begun' },
    audit: { action: 'encryption-key.rotate', kind: 'EncryptionKey' },
    otherStatus: 202,
    reply: { json: rotatedSchema },
    errors: ['forbidden', 'conflict'],
  }),
  list: endpoint({
    ...common,
    path: '/api/encryption-keys',
    operationId: 'listEncryptionKeys',
    method: 'get',
    summary: 'List the versions of the encryption key, without the keys',
    reply: { json: encryptionKeyListSchema },
    errors: [],
  }),
  purge: endpoint({
    ...common,
    path: '/api/encryption-keys/:version',
    operationId: 'purgeEncryptionKey',
    permission: 'administer',
    method: 'delete',
    summary: 'Delete a retired encryption key permanently; values that are encrypted with it can no longer be read',
    audit: { action: 'encryption-key.purge', kind: 'EncryptionKey', id: 'version' },
    reply: { json: successSchema },
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
};
