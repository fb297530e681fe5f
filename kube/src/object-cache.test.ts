import { eventually } from '@wherry/testing/eventually.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { systemClock } from '@wherry/service/clock.ts';
import type { KubeObject } from './client/kube-object.ts';
import { useApiServer } from './testing/use-api-server.ts';
import { createObjectCache } from './object-cache.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

const api = useApiServer();

async function write(
  name: string,
  data: Record<string, string>,
  labels: Record<string, string> = {},
): Promise<KubeObject> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data };
  const query = { fieldManager: 'test', force: true };
  return api.client.request({
    method: 'PATCH',
    path: `${PATH}/${name}`,
    query,
    contentType: 'application/apply-patch+yaml',
    body,
  });
}

describe('object cache', () => {
  it('holds what the label selector takes, as it is kept, and follows changes', async () => {
    await write('before', { text: 'one' }, { team: 'a' });
    await write('other', { text: 'x' }, { team: 'b' });
    const keep = (raw: KubeObject) => ({
      metadata: raw.metadata,
      text: (raw as unknown as { data: { text: string } }).data.text,
    });
    const logger = new FakeLogger();
    const cache = createObjectCache({
      client: api.client,
      path: PATH,
      labelSelector: 'team=a',
      clock: systemClock,
      logger,
      keep,
    });
    const changes: string[] = [];
    cache.onChange((name, object) => changes.push(`${name}:${object?.text ?? 'gone'}`));
    await cache.start();
    expect(cache.get('before')?.text).toBe('one');
    await write('before', { text: 'two' }, { team: 'a' });
    await write('later', { text: 'new' }, { team: 'a' });
    // To this selector, an object that loses the label is gone.
    const { metadata } = await write('before', { text: 'two' }, { team: 'b' });
    await cache.reach(metadata.resourceVersion);
    expect(changes).toEqual(['before:one', 'before:two', 'later:new', 'before:gone']);
    expect(logger.lines).toEqual([]);
    await cache.stop();
  });

  it('K5: leaves out an object that cannot be kept, and goes on with the others', async () => {
    const logger = new FakeLogger();
    const keep = (raw: KubeObject) => {
      if (raw.metadata.name === 'broken') throw new Error('no');
      return raw;
    };
    await write('broken', {});
    const cache = createObjectCache({ client: api.client, path: PATH, clock: systemClock, logger, keep });
    await cache.start();
    await write('broken', { again: '1' });
    await write('sound', {});
    await eventually(() => expect(cache.get('sound')).toBeDefined());
    expect(cache.get('broken')).toBeUndefined();
    expect(logger.of('warn').map((line) => line.fields['object'])).toEqual(['broken', 'broken']);
    await cache.stop();
  });
});
