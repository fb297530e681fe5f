import { randomBytes } from 'node:crypto';
import { makeNamespace } from './testing/install-crds.ts';
import { useApiServer } from './testing/use-api-server.ts';
import { createSystemConfigMaps, createSystemSecrets } from './system-objects.ts';

const api = useApiServer();
let namespace: string;
beforeEach(async () => {
  namespace = await makeNamespace(api.client, 'system');
});

describe('system Secrets', () => {
  it('keep any bytes, and return an absent one as undefined', async () => {
    const secrets = createSystemSecrets({ client: api.client, namespace });
    const bytes = randomBytes(300);
    expect(await secrets.get('keys')).toBeUndefined();
    const created = await secrets.create('keys', { 'keys.json': bytes, empty: Buffer.alloc(0) });
    expect(await secrets.get('keys')).toEqual(created);
    expect(created.data).toEqual({ 'keys.json': bytes, empty: Buffer.alloc(0) });
  });

  it('are created once: of many who make them, one wins, and all read the same', async () => {
    const secrets = createSystemSecrets({ client: api.client, namespace });
    const make = () => secrets.create('keys', { key: randomBytes(32) });
    const results = await Promise.allSettled(Array.from({ length: 10 }, make));
    const won = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const lost = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect(won).toHaveLength(1);
    expect(lost).toHaveLength(9);
    for (const error of lost)
      expect(error).toMatchObject({ code: 'conflict', message: 'secrets "keys" already exists' });
    expect(await secrets.get('keys')).toEqual(won[0]);
  });

  it('are updated only from the state that was read; labels of others stay', async () => {
    const secrets = createSystemSecrets({ client: api.client, namespace });
    await secrets.create('keys', { a: Buffer.from('1'), b: Buffer.from('2') });
    const path = `/api/v1/namespaces/${namespace}/secrets/keys`;
    const patch = { metadata: { labels: { team: 'a' } } };
    const labelled = await api.client.request<{ metadata: { resourceVersion: string } }>({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: patch,
    });
    const { resourceVersion: before } = labelled.metadata;
    const updated = await secrets.update('keys', { a: Buffer.from('3') }, before);
    expect(updated).toMatchObject({ data: { a: Buffer.from('3') } });
    expect(await api.client.request({ method: 'GET', path })).toMatchObject(patch);
    expect(updated.data).not.toHaveProperty('b');
    await expect(secrets.update('keys', {}, before)).rejects.toMatchObject({ code: 'conflict' });
    const both = await Promise.allSettled(
      [1, 2].map((n) => secrets.update('keys', { n: Buffer.from(String(n)) }, updated.resourceVersion)),
    );
    expect(both.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
    await expect(secrets.update('absent', {}, '1')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('ConfigMaps likewise, as text', async () => {
    const maps = createSystemConfigMaps({ client: api.client, namespace });
    const created = await maps.create('ca', { 'ca.crt': '-----BEGIN' });
    const updated = await maps.update('ca', { 'ca.crt': 'ä' }, created.resourceVersion);
    expect(await maps.get('ca')).toEqual(updated);
    expect(updated.data).toEqual({ 'ca.crt': 'ä' });
  });
});
