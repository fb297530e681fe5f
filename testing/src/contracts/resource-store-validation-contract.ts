import type { NewResource, ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { FunctionResource, KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import { group, refusal } from './resource-store-samples.ts';

/** What only JSON can hold: fields that TypeScript would refuse. */
const untyped = <T>(value: unknown): T => value as T;

const hello = (over: object = {}): NewResource<'Function'> =>
  untyped({
    kind: 'Function',
    metadata: { name: 'hello' },
    spec: { handler: 'app/hello.ts', route: '/hello', methods: ['GET'], ...over },
  });

/** What a store refuses, and how it says so. */
export function validationContract(store: () => ResourceStore): void {
  it('fills in the defaults of a spec', async () => {
    const created = await store().create(hello({ cors: { origins: ['*'] } }));
    expect(created.spec).toEqual({
      handler: 'app/hello.ts',
      route: '/hello',
      methods: ['GET'],
      cors: { origins: ['*'], maxAge: 86_400 },
      enabled: true,
      timeoutSeconds: 30,
      maxRequestBytes: 10_485_760,
      maxConcurrency: null,
      scaling: { minReplicas: 1, maxReplicas: 1, targetConcurrency: 50, idleSeconds: 300 },
      resources: { memoryMiB: 128, cpuMillis: null },
      debug: false,
    });
  });

  it('takes an update that leaves a default out as no change', async () => {
    const created = await store().create(hello());
    const { enabled: _, ...spec } = created.spec;
    const updated = await store().update(untyped<FunctionResource>({ ...created, spec }));
    expect(updated).toEqual(created);
  });

  it.each([
    ['an empty list', { methods: [] }, 'spec.methods'],
    ['an unknown value', { methods: ['GET', 'BREW'] }, 'spec.methods[1]'],
    ['a number out of bounds', { timeoutSeconds: 0 }, 'spec.timeoutSeconds'],
    ['a wrong type', { enabled: 'yes' }, 'spec.enabled'],
    ['a missing field', { handler: undefined }, 'spec.handler'],
    ['an unknown field', { colour: 'blue' }, 'spec.colour'],
    ['an unknown nested field', { scaling: { replicas: 3 } }, 'spec.scaling.replicas'],
    ['a broken rule over two fields', { cors: { origins: ['*'], credentials: true } }, 'spec.cors'],
  ])('refuses %s in a create, and in an update, naming the field', async (_what, over, path) => {
    const refused = await refusal(store().create(hello(over)), 'validation_failed');
    expect(refused.details?.map((detail) => detail.path).join(' ')).toContain(path);
    expect(refused.message).toContain(path);
    expect(await store().get('Function', 'hello')).toBeUndefined();

    const created = await store().create(hello());
    const changed = untyped<FunctionResource>({ ...created, spec: { ...created.spec, ...over } });
    const again = await refusal(store().update(changed), 'validation_failed');
    expect(again.details?.map((detail) => detail.path).join(' ')).toContain(path);
    expect(await store().get('Function', 'hello')).toEqual(created);
  });

  it('names every offending field at once', async () => {
    const refused = await refusal(store().create(hello({ methods: [], timeoutSeconds: 0 })), 'validation_failed');
    expect(refused.details?.map((detail) => detail.path).sort()).toEqual(['spec.methods', 'spec.timeoutSeconds']);
  });

  it.each(['', 'Upper', 'under_score', '-dash', 'dot.dot', 'a/b', '..', 'x'.repeat(64), 'ä'])(
    'refuses the name %j, naming metadata.name',
    async (name) => {
      const refused = await refusal(store().create(group(name)), 'validation_failed');
      expect(refused.message).toContain('metadata.name');
    },
  );

  it.each(['a', '0', 'x'.repeat(63), 'a--b'])('accepts the name %j', async (name) => {
    expect((await store().create(group(name))).metadata.name).toBe(name);
  });

  it.each([
    ['a label key', { labels: { 'not a key': 'x' } }, 'metadata.labels'],
    ['a label value', { labels: { key: 'not a value' } }, 'metadata.labels'],
    ['an annotation key', { annotations: { 'a/b/c': 'x' } }, 'metadata.annotations'],
  ])('refuses %s that is not one', async (_what, metadata, path) => {
    const refused = await refusal(
      store().create({ ...group('team'), metadata: { name: 'team', ...metadata } }),
      'validation_failed',
    );
    expect(refused.message).toContain(path);
  });

  it('refuses unknown fields beside the spec', async () => {
    const beside = untyped<NewResource<'KeyGroup'>>({ ...group('team'), extra: true });
    expect((await refusal(store().create(beside), 'validation_failed')).message).toContain('extra');
    const inside = untyped<NewResource<'KeyGroup'>>({ ...group('team'), metadata: { name: 'team', owner: 'me' } });
    expect((await refusal(store().create(inside), 'validation_failed')).message).toContain('metadata.owner');
  });

  it('refuses a create that carries a resourceVersion', async () => {
    const created = await store().create(group('team'));
    await store().delete('KeyGroup', 'team');
    const refused = await refusal(store().create(untyped<NewResource<'KeyGroup'>>(created)), 'validation_failed');
    expect(refused.message).toContain('metadata.resourceVersion');
  });

  it('does not take a status along with a create', async () => {
    const created = await store().create(untyped<NewResource<'KeyGroup'>>({ ...group('team'), status: { keys: 7 } }));
    expect(created.status).toEqual({});
  });

  it.each([
    ['a wrong type', { keys: 'many' }, 'status.keys'],
    ['an unknown field', { colour: 'blue' }, 'status.colour'],
  ])('refuses %s in a status, naming the field', async (_what, status, path) => {
    const created = await store().create(group('team'));
    const refused = await refusal(
      store().updateStatus(untyped<KeyGroupResource>({ ...created, status })),
      'validation_failed',
    );
    expect(refused.details?.map((detail) => detail.path)).toEqual([path]);
    expect(await store().get('KeyGroup', 'team')).toEqual(created);
  });
}
