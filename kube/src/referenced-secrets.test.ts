import { eventually } from '@wherry/testing/eventually.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import type { ReferencedSecret } from '@wherry/core/ports/referenced-secrets.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { TestCluster } from './testing/test-cluster.ts';
import { createReferencedSecrets } from './referenced-secrets.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
}, 120_000);
afterAll(() => cluster.stop());

describe('createReferencedSecrets', () => {
  it('R8: gives what a Secret holds, reports each change within a second, and forgets what is deleted', async () => {
    const namespace = await cluster.createNamespace();
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    await cluster.create(path, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys' },
      stringData: { acme: 'wh_grüße' },
    });
    const secrets = createReferencedSecrets({
      client: cluster.client,
      namespace,
      clock: systemClock,
      logger: new FakeLogger(),
    });
    await secrets.start();
    try {
      expect(secrets.get('keys')).toEqual({ data: new Map([['acme', 'wh_grüße']]) });
      expect(secrets.get('none')).toBeUndefined();
      const seen: string[] = [];
      const stop = secrets.onChange((name) => void seen.push(name));
      await cluster.edit(`${path}/keys`, { stringData: { acme: 'changed', other: 'x' } });
      await eventually(
        () =>
          expect(secrets.get('keys')).toEqual({
            data: new Map([
              ['acme', 'changed'],
              ['other', 'x'],
            ]),
          }),
        1000,
      );
      await cluster.delete(`${path}/keys`);
      await eventually(() => expect(secrets.get('keys')).toBeUndefined(), 1000);
      expect(seen).toEqual(['keys', 'keys']);
      stop();
      await cluster.create(path, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'later' } });
      await eventually(() => expect(secrets.get('later')).toEqual({ data: new Map() }));
      expect(seen).toHaveLength(2);
    } finally {
      await secrets.stop();
    }
  });

  const token = Buffer.from('the token').toString('base64');
  const wherryOwner = {
    apiVersion: 'wherry.dev/v1alpha1',
    kind: 'Function',
    name: 'hello',
    uid: '1',
    controller: true,
  };

  it.each<[string, { type?: string; labels?: Record<string, string>; ownerReferences?: object[] }, RegExp]>([
    ["a function's feed token", { labels: { 'app.kubernetes.io/managed-by': 'wherry' } }, /which Wherry manages/],
    ['a feed token whose labels were taken away', { ownerReferences: [wherryOwner] }, /which Wherry manages/],
    ['a release of Helm', { type: 'helm.sh/release.v1' }, /whose type is helm\.sh\/release\.v1/],
    ['a bootstrap token', { type: 'bootstrap.kubernetes.io/token' }, /whose type is bootstrap/],
    [
      'a Secret of a type that nobody here knows',
      { type: 'example.com/of-somebody' },
      /whose type is example\.com\/of-somebody/,
    ],
  ])('K6: refuses %s and keeps nothing of it', async (_what, { type, ...metadata }, refused) => {
    expect(await readBack({ ...(type !== undefined && { type }), metadata })).toEqual({
      refused: expect.stringMatching(refused) as string,
    });
  });

  it.each(['Opaque', 'servicebinding.io/postgresql'])(
    'K6: reads a Secret of the type %s, which is for applications',
    async (type) => {
      const metadata = { labels: { 'app.kubernetes.io/managed-by': 'Helm' } };
      expect(await readBack({ type, metadata })).toEqual({ data: new Map([['token', 'the token']]) });
    },
  );

  /** What a field gets that refers to this Secret. */
  async function readBack({
    metadata,
    ...secret
  }: {
    type?: string;
    metadata: object;
  }): Promise<ReferencedSecret | undefined> {
    const namespace = await cluster.createNamespace();
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'one', ...metadata },
      data: { token },
      ...secret,
    };
    await cluster.create(`/api/v1/namespaces/${namespace}/secrets`, body);
    const secrets = createReferencedSecrets({
      client: cluster.client,
      namespace,
      clock: systemClock,
      logger: new FakeLogger(),
    });
    await secrets.start();
    try {
      return secrets.get('one');
    } finally {
      await secrets.stop();
    }
  }
});
