import { each, type Table } from '../row.ts';
import { TIME } from '../patterns.ts';

const PURGES = 'in a cluster, other suites may need the retired keys';

export const encryptionKeys: Table = {
  title: 'Encryption keys',
  inCluster: true,
  rows: [
    {
      says: 'GET /api/encryption-keys/rotation, before the first rotation: the first two fields are null',
      sends: ['GET', '/api/encryption-keys/rotation'],
      answers: 200,
      whole: {
        ...{ lastRotationAt: null, daysSinceRotation: null, nextRotationAt: TIME },
        ...{ rotationIntervalDays: 90, currentVersion: 1, isInProgress: false },
        ...{ processed: expect.any(Number), total: expect.any(Number), failed: 0 },
      },
      oneMachine: 'other suites rotate the key there',
    },
    {
      says: 'POST /api/secrets: a value to encrypt again',
      sends: ['POST', '/api/secrets', { name: 'ROTATED', value: 'before-and-after', scope: 'global' }],
      answers: 201,
      keeps: { secret: 'id' },
    },
    {
      says: 'POST → 200 {success: true, message} once every value is re-encrypted',
      sends: ['POST', '/api/encryption-keys/rotation'],
      answers: 200,
      whole: { success: true, message: expect.stringMatching(/\S/) },
    },
    {
      says: 'GET → {lastRotationAt, daysSinceRotation, nextRotationAt, rotationIntervalDays, currentVersion, isInProgress, processed, total, failed}; key version advances',
      sends: ['GET', '/api/encryption-keys/rotation'],
      answers: 200,
      whole: {
        ...{ lastRotationAt: TIME, daysSinceRotation: 0 },
        ...{ nextRotationAt: TIME, rotationIntervalDays: 90 },
        ...{ currentVersion: expect.any(Number), isInProgress: false },
        ...{ processed: expect.any(Number), total: expect.any(Number), failed: 0 },
      },
      keeps: { version: 'currentVersion' },
      soon: true,
    },
    {
      says: 'Re-encrypts all secrets: their values stay',
      sends: ['GET', '/api/secrets?scope=global&includeValues=true'],
      answers: 200,
      body: {
        secrets: expect.arrayContaining([expect.objectContaining({ id: '<secret>', value: 'before-and-after' })]),
      },
    },
    {
      says: 'GET /api/encryption-keys: the versions, without the keys',
      sends: ['GET', '/api/encryption-keys'],
      answers: 200,
      body: {
        keys: expect.arrayContaining([
          { version: 1, state: 'retired', createdAt: expect.any(String), retiredAt: expect.any(String) },
          { version: 2, state: 'active', createdAt: expect.any(String), retiredAt: null },
        ]),
      },
      soon: true,
      oneMachine: PURGES,
    },
    {
      says: 'DELETE /api/encryption-keys/:version: a retired key',
      sends: ['DELETE', '/api/encryption-keys/1'],
      answers: 200,
      whole: { success: true },
      oneMachine: PURGES,
    },
    {
      says: 'DELETE: the active key → 409',
      sends: ['DELETE', '/api/encryption-keys/<version>'],
      answers: 409,
      code: 'conflict',
    },
    ...each(['1', '0', '99', 'x'], (version) => ({
      says: `DELETE: an unknown version → 404: ${version}`,
      sends: ['DELETE', `/api/encryption-keys/${version}`],
      answers: 404,
      code: 'not_found',
      oneMachine: PURGES,
    })),
    {
      says: 'With Prefer: respond-async: 202, the same body, immediately',
      sends: ['POST', '/api/encryption-keys/rotation'],
      headers: { prefer: 'respond-async' },
      answers: 202,
      body: { success: true },
    },
    {
      says: 'GET: isInProgress until it is over',
      sends: ['GET', '/api/encryption-keys/rotation'],
      answers: 200,
      body: { isInProgress: false, failed: 0 },
      soon: true,
    },
  ],
};
