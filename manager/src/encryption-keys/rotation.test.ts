import supertest from 'supertest';
import { eventually } from '@wherry/testing/eventually.ts';
import {
  CONFIDENTIAL_FIELDS,
  confidentialValues,
  ENCRYPTED_KINDS,
  openConfidential,
  sealConfidential,
} from '@wherry/core/confidential/confidential-fields.ts';
import { staleFields } from '@wherry/core/confidential/reencrypt.ts';
import type { Confidential } from '@wherry/core/resources/confidential.ts';
import type { Resource } from '@wherry/core/resources/kinds.ts';
import { newKey } from '@wherry/service/keys/keys-json.ts';
import { MAX_KEYS } from '@wherry/service/keys/ring-transitions.ts';
import { KEY, startTestManager, type TestManager } from '../testing/test-manager.ts';

const DAY = 86_400_000;
const ROTATION = '/api/encryption-keys/rotation';

let manager: TestManager;
beforeEach(async () => {
  manager = await startTestManager();
});
afterEach(() => manager.stop());

const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
const status = async (): Promise<Record<string, unknown>> =>
  (await api().get(ROTATION).expect(200)).body as Record<string, unknown>;
const set = (settings: Record<string, string>): supertest.Test =>
  api().put('/api/settings').send({ settings }).expect(200);
const setting = (name: string, value: number): supertest.Test =>
  set({ [`encryption.key-rotation.${name}`]: String(value) });
const versions = async (): Promise<string[]> => {
  const { keys } = (await api().get('/api/encryption-keys').expect(200)).body as {
    keys: { version: number; state: string }[];
  };
  return keys.map(({ version, state }) => `${version} ${state}`);
};
const createSecrets = async (count: number, from = 0): Promise<void> => {
  for (let at = from; at < from + count; at += 1)
    await api()
      .post('/api/secrets')
      .send({ name: `S${at}`, value: `value ${at}`, scope: 'global' })
      .expect(201);
};
const sealed = (
  kind: 'CodeSource',
  name: string,
  field: 'spec.git.authToken' | 'spec.sync.webhook.secret',
): Confidential =>
  sealConfidential(manager.keyRing, { kind, metadata: { namespace: manager.store.namespace, name } }, field, field);

/** One object of each kind with all of its confidential fields. */
async function createOfEveryKind(): Promise<void> {
  await createSecrets(3);
  // A key with its previous value beside the new one.
  const key = { groupId: 'management', name: 'two-values' };
  const { id } = (await api().post('/api/keys').send(key).expect(201)).body as { id: string };
  await api().post(`/api/keys/${id}/rotate`).send({ overlapSeconds: 2_592_000 }).expect(200);
  await manager.store.create({
    kind: 'CodeSource',
    metadata: { name: 'web' },
    spec: {
      type: 'git',
      enabled: true,
      git: {
        url: 'https://example.org/a.git',
        branch: 'main',
        authToken: sealed('CodeSource', 'web', 'spec.git.authToken'),
      },
      sync: {
        intervalSeconds: 0,
        webhook: { enabled: true, secret: sealed('CodeSource', 'web', 'spec.sync.webhook.secret') },
      },
    },
  });
  await manager.store.create({
    kind: 'ApiKey',
    metadata: { name: 'referring' },
    spec: { keyGroup: 'management', enabled: true, value: { secretKeyRef: { name: 'a', key: 'b' } } },
  });
}

async function everything(): Promise<Resource[]> {
  const lists = await Promise.all(ENCRYPTED_KINDS.map((kind) => manager.store.list(kind)));
  return lists.flatMap(({ items }): Resource[] => items);
}

/** Every value, by kind, name and field; a reference as it is. */
async function values(): Promise<Record<string, string>> {
  const all = (await everything()).flatMap((object) =>
    confidentialValues(object).map(({ field, value }): [string, string] => [
      `${object.kind} ${object.metadata.name} ${field}`,
      value.encrypted === undefined ? JSON.stringify(value) : openConfidential(manager.keyRing, object, field),
    ]),
  );
  return Object.fromEntries(all);
}

const stale = async (): Promise<string[]> =>
  (await everything())
    .filter((object) => staleFields(manager.keyRing, object).length > 0)
    .map((one) => one.metadata.name);

/** Time passes until the rotation has ended. */
async function untilEnded(): Promise<void> {
  await eventually(async () => {
    await manager.clock.advance(1000);
    expect(await status()).toMatchObject({ isInProgress: false });
  });
}

describe('E5: a rotation of the encryption key', () => {
  it('has not been, at first', async () => {
    expect(await status()).toEqual({
      lastRotationAt: null,
      daysSinceRotation: null,
      nextRotationAt: new Date(manager.clock.now() + 90 * DAY).toISOString(),
      rotationIntervalDays: 90,
      currentVersion: 1,
      isInProgress: false,
      processed: 0,
      total: 0,
      failed: 0,
    });
    expect(await versions()).toEqual(['1 active']);
  });

  it('encrypts every confidential field of every kind again, changes nothing else, and retires the old key', async () => {
    await createOfEveryKind();
    const before = await values();
    const fields = new Set(
      (await everything()).flatMap((one) => confidentialValues(one).map(({ field }) => `${one.kind} ${field}`)),
    );
    // Every field of the registry is among them: else nothing would be proved of it.
    expect(fields.size).toBe(Object.values(CONFIDENTIAL_FIELDS).flat().length);
    const updated = (await api().get('/api/secrets').expect(200)).body as object;
    const answer = await api().post(ROTATION).expect(200);
    expect(answer.body).toEqual({
      success: true,
      message: 'Encryption key version 2 is active, and all 8 encrypted values use it.',
    });
    expect(await values()).toEqual(before);
    expect(await stale()).toEqual([]);
    expect(await versions()).toEqual(['1 retired', '2 active']);
    expect((await api().get('/api/secrets').expect(200)).body).toEqual(updated);
    await manager.clock.advance(1.5 * DAY);
    expect(await status()).toMatchObject({
      currentVersion: 2,
      isInProgress: false,
      daysSinceRotation: 1,
      processed: 8,
      total: 8,
      failed: 0,
    });
  });

  it('runs in batches with pauses, shows its progress, and is a 409 to whoever wants another one meanwhile', async () => {
    await createSecrets(25);
    await setting('batch-size', 10);
    await setting('batch-sleep-ms', 5000);
    const begun = await api().post(ROTATION).set('Prefer', 'return=minimal, respond-async; wait=1').expect(202);
    expect(begun.headers).toMatchObject({ 'preference-applied': 'respond-async' });
    expect(begun.body).toEqual({ success: true, message: 'The rotation to encryption key version 2 has begun.' });
    await eventually(async () =>
      expect(await status()).toMatchObject({ isInProgress: true, processed: 10, total: 26 }),
    );
    const refused = await api().post(ROTATION).expect(409);
    expect(refused.body).toMatchObject({
      code: 'conflict',
      error: expect.stringMatching(/version 2 has been in progress since /),
    });
    await createSecrets(1, 25);
    await manager.clock.advance(5000);
    await eventually(async () => expect(await status()).toMatchObject({ isInProgress: true, processed: 20 }));
    expect(manager.metrics.value('encryption_rotation_in_progress')).toBe(1);
    expect(manager.metrics.value('encryption_rotation_values', { state: 'waiting' })).toBe(6);
    await manager.clock.advance(5000);
    await eventually(async () =>
      expect(await status()).toMatchObject({ isInProgress: false, processed: 27, total: 27 }),
    );
    expect(manager.metrics.value('encryption_rotation_in_progress')).toBe(0);
    expect(manager.metrics.value('encryption_rotations_total', { result: 'complete' })).toBe(1);
    expect(await stale()).toEqual([]);
  });

  it('never overwrites what others write meanwhile', async () => {
    await createSecrets(5);
    const update = manager.store.update.bind(manager.store);
    let raced = 0;
    manager.store.update = async (object) => {
      if (object.kind === 'FunctionSecret' && raced < 5) {
        raced += 1;
        await api()
          .put(`/api/secrets/${object.metadata.name}`)
          .send({ value: `newer than ${object.metadata.name}` });
      }
      return update(object);
    };
    // The racing writes go the same way, and race with nobody.
    const counted = raced;
    await api().post(ROTATION).expect(200);
    expect(raced).toBeGreaterThan(counted);
    const after = Object.entries(await values()).filter(([name]) => name.startsWith('FunctionSecret'));
    expect(after.filter(([, value]) => value.startsWith('newer than')).length).toBeGreaterThan(0);
    for (const [name, value] of after)
      if (value.startsWith('newer than')) expect(name).toContain(value.slice('newer than '.length));
    expect(await stale()).toEqual([]);
    expect(await versions()).toEqual(['1 retired', '2 active']);
  });

  it('waits while the store is away, and goes on', async () => {
    await createSecrets(3);
    for (const operation of ['list', 'update', 'update'] as const) manager.store.failNext(operation);
    await api().post(ROTATION).set('Prefer', 'respond-async').expect(202);
    await untilEnded();
    expect(await stale()).toEqual([]);
    expect(await status()).toMatchObject({ processed: 4, total: 4, failed: 0 });
  });

  it('leaves audit records of who began it and how it ended, and M9: none of a value', async () => {
    await api().post(ROTATION).expect(200);
    const records = (await manager.audited()).filter(({ action }) => action.startsWith('encryption-key.'));
    const object = { kind: 'EncryptionKey', id: '2', name: 'version 2' };
    expect(records.map(({ action, actor, result, object: of }) => [action, actor.type, result, of]).sort()).toEqual([
      ['encryption-key.finish-rotation', 'system', 'ok', object],
      ['encryption-key.rotate', 'key', 'ok', object],
    ]);
    const [key] = manager.ring.ring().keys;
    expect(JSON.stringify(records)).not.toContain(key?.secret);
    await api().post(ROTATION).set('X-API-Key', 'not-a-key-of-anybody').expect(401);
    expect((await manager.audited()).at(-1)).toMatchObject({ action: 'encryption-key.rotate', result: 'denied' });
  });

  it('shows no key to anybody, over no endpoint', async () => {
    await api().post(ROTATION).expect(200);
    const shown = JSON.stringify([(await api().get('/api/encryption-keys')).body, await status()]);
    for (const { secret } of manager.ring.ring().keys) expect(shown).not.toContain(secret);
    expect(JSON.stringify(manager.logger.lines)).not.toContain(manager.ring.ring().keys[1]?.secret);
  });
});

describe('E5: a value that comes back with an older key', () => {
  it.each(['during the rotation', 'after it'])('is read, and encrypted again when it is seen: %s', async (when) => {
    await createSecrets(12);
    const [old] = (await manager.store.list('FunctionSecret')).items;
    if (old === undefined) throw new Error('there is no secret');
    await setting('batch-size', 10);
    await setting('batch-sleep-ms', 5000);
    await api().post(ROTATION).set('Prefer', 'respond-async').expect(202);
    await eventually(async () => expect(await status()).toMatchObject({ processed: 10 }));
    if (when === 'after it') await untilEnded();
    // As a sync of GitOps does, or a restore of a backup.
    const now = await manager.store.get('FunctionSecret', old.metadata.name);
    await manager.store.update({
      ...old,
      metadata: { ...old.metadata, resourceVersion: now!.metadata.resourceVersion },
    });
    expect((await values())[`FunctionSecret ${old.metadata.name} spec.value`]).toBe('value 0');
    if (when === 'after it') {
      expect(await stale()).toEqual([old.metadata.name]);
      await manager.clock.advance(10_800_000);
    } else await untilEnded();
    await eventually(async () => expect(await stale()).toEqual([]));
    expect((await values())[`FunctionSecret ${old.metadata.name} spec.value`]).toBe('value 0');
    expect(await versions()).toEqual(['1 retired', '2 active']);
  });
});

describe('a rotation by the settings', () => {
  it('begins when the key is as old as they say, at the next check', async () => {
    await createSecrets(1);
    await setting('interval-days', 2);
    await manager.clock.advance(2 * DAY - 1);
    expect(await status()).toMatchObject({ currentVersion: 1, isInProgress: false });
    await manager.clock.advance(10_800_000);
    await eventually(async () => expect(await status()).toMatchObject({ currentVersion: 2, isInProgress: false }));
    expect(await stale()).toEqual([]);
    const { lastRotationAt, nextRotationAt } = await status();
    expect(Date.parse(String(nextRotationAt)) - Date.parse(String(lastRotationAt))).toBe(2 * DAY);
    const begun = (await manager.audited()).find(({ action }) => action === 'encryption-key.rotate');
    expect(begun).toMatchObject({ actor: { type: 'system' }, object: { id: '2' }, result: 'ok' });
  });

  it('checks as often as they say, from the moment on at which they change', async () => {
    await setting('check-interval-seconds', 86_400);
    await manager.clock.advance(60_000);
    await setting('interval-days', 1);
    await manager.clock.advance(DAY - 60_001);
    expect(await status()).toMatchObject({ currentVersion: 1 });
    await setting('check-interval-seconds', 3600);
    await manager.clock.advance(3_600_000);
    await eventually(async () => expect(await status()).toMatchObject({ currentVersion: 2 }));
  });
});

describe('a rotation where there are as many keys as there may be', () => {
  beforeEach(() =>
    manager.ring.change((ring) => ({
      ...ring,
      current: MAX_KEYS,
      keys: Array.from({ length: MAX_KEYS }, (_, index) => ({
        ...(ring.keys[index] ?? newKey(index + 1, manager.clock.now())),
        ...(index + 1 < MAX_KEYS && { retiredAt: new Date(manager.clock.now()).toISOString() }),
      })),
    })),
  );

  it('is refused with what to do, and begins once one is deleted', async () => {
    const answer = await api().post(ROTATION).expect(409);
    expect(answer.body).toMatchObject({
      error: `There are ${MAX_KEYS} encryption keys, and at most ${MAX_KEYS} are kept: delete retired ones (DELETE /api/encryption-keys/{version}), then rotate again.`,
    });
    expect(await versions()).toHaveLength(MAX_KEYS);
    await api().delete('/api/encryption-keys/2').expect(200);
    await api().post(ROTATION).expect(200);
    expect(await status()).toMatchObject({ currentVersion: MAX_KEYS + 1 });
  });

  it('does not begin by the settings: each check logs it once, until a key is deleted', async () => {
    const errors = () => manager.logger.of('error').filter(({ message }) => message.includes('is not rotated'));
    await setting('interval-days', 1);
    await manager.clock.advance(DAY - 1);
    let checks = 0;
    await eventually(async () => {
      checks += 1;
      await manager.clock.advance(10_800_000);
      expect(errors().length).toBeGreaterThan(1);
    });
    await manager.clock.advance(600_000);
    expect(errors().length).toBeLessThanOrEqual(checks + 1);
    expect(manager.logger.of('warn')).toEqual([]);
    expect(await status()).toMatchObject({ currentVersion: MAX_KEYS, isInProgress: false });
    await api().delete('/api/encryption-keys/2').expect(200);
    await eventually(async () => {
      await manager.clock.advance(10_800_000);
      expect(await status()).toMatchObject({ currentVersion: MAX_KEYS + 1 });
    });
  });
});

describe('E6: a value that does not decrypt', () => {
  const breakOne = async (): Promise<string> => {
    const [first] = (await manager.store.list('FunctionSecret')).items;
    if (first?.spec.value.encrypted === undefined) throw new Error('there is no secret');
    const encrypted = `${first.spec.value.encrypted.slice(0, -6)}AAAAAA`;
    await manager.store.update({ ...first, spec: { ...first.spec, value: { encrypted } } });
    return first.metadata.name;
  };

  it('is counted and reported; the rotation ends, and the old key is kept', async () => {
    await createSecrets(3);
    const name = await breakOne();
    const answer = await api().post(ROTATION).expect(409);
    expect(answer.body).toMatchObject({
      error: expect.stringContaining(
        'version 2 is active, but 1 of 4 values do not decrypt, so the older keys are kept',
      ),
    });
    expect(await stale()).toEqual([name]);
    expect(await versions()).toEqual(['1 superseded', '2 active']);
    expect(await status()).toMatchObject({ isInProgress: false, processed: 3, total: 4, failed: 1 });
    expect(manager.metrics.value('encryption_rotations_total', { result: 'degraded' })).toBe(1);
    expect((await manager.audited()).at(-2)).toMatchObject({
      action: 'encryption-key.finish-rotation',
      result: 'failed',
    });
    const [line] = manager.logger.lines.filter(({ level }) => level === 'error');
    expect(JSON.stringify(line)).toContain(`FunctionSecret ${name} (spec.value): The encrypted value was changed`);
    await api().delete('/api/encryption-keys/1').expect(409);
  });

  it('keeps the old key until it is written again: then the next check retires it', async () => {
    await createSecrets(3);
    const name = await breakOne();
    await api().post(ROTATION).expect(409);
    await api().put(`/api/secrets/${name}`).send({ value: 'again' }).expect(200);
    await manager.clock.advance(10_800_000);
    await eventually(async () => expect(await versions()).toEqual(['1 retired', '2 active']));
    expect(await status()).toMatchObject({ processed: 4, total: 4, failed: 0, currentVersion: 2 });
  });
});

describe('a purge', () => {
  it('deletes a retired key for good, and no other', async () => {
    await createSecrets(2);
    await api().delete('/api/encryption-keys/1').expect(409);
    await api().post(ROTATION).expect(200);
    for (const unknown of ['7', '0', 'x', '1.5', '01'])
      await api().delete(`/api/encryption-keys/${unknown}`).expect(404);
    await api().delete('/api/encryption-keys/2').expect(409);
    await api().delete('/api/encryption-keys/1').expect(200, { success: true });
    expect(await versions()).toEqual(['2 active']);
    await api().delete('/api/encryption-keys/1').expect(404);
    expect((await manager.audited()).findLast(({ result }) => result === 'ok')).toMatchObject({
      action: 'encryption-key.purge',
      object: { kind: 'EncryptionKey', id: '1', name: 'version 1' },
    });
    await api().post(ROTATION).expect(200);
    expect(await versions()).toEqual(['2 retired', '3 active']);
  });

  it('is refused while a value needs the key', async () => {
    await createSecrets(1);
    const [old] = (await manager.store.list('FunctionSecret')).items;
    await api().post(ROTATION).expect(200);
    const now = await manager.store.get('FunctionSecret', old!.metadata.name);
    await manager.store.update({ ...now!, spec: old!.spec });
    const answer = await api().delete('/api/encryption-keys/1').expect(409);
    expect(answer.body).toMatchObject({
      error: expect.stringContaining(`FunctionSecret ${old!.metadata.name} has a value`),
    });
    expect(await versions()).toEqual(['1 retired', '2 active']);
  });
});
