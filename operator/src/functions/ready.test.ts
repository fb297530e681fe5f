import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { findCondition } from '@wherry/core/resources/conditions.ts';
import type { FunctionResource, Resource } from '@wherry/core/resources/kinds.ts';
import { kstatusOf, kstatusProgram, type Kstatus } from '../testing/kstatus.ts';
import { conditionOf, TestWorld } from '../testing/test-world.ts';
import { desiredWorkload } from './decide-rollout.ts';

const CODE = { 'main.ts': 'export default () => 1;' };
const EDITED = { 'main.ts': 'export default () => 2;' };
const NO_CAPACITY = 'No node accepts the pod x: 0/1 nodes are available: 1 Insufficient memory.';
const BIGGER = { resources: { memoryMiB: 8192, cpuMillis: null } };
const scaledTo = (replicas: number) => ({
  scaling: { minReplicas: replicas, maxReplicas: replicas, targetConcurrency: 50, idleSeconds: 300 },
});

let world: TestWorld;
beforeEach(() => {
  world = new TestWorld();
});
afterEach(() => world.stop());

/** An operator that runs, with each status that it writes of the function. */
async function started(): Promise<FunctionResource[]> {
  const written: FunctionResource[] = [];
  const { store } = world;
  const seen: ResourceStore = {
    namespace: store.namespace,
    get: (kind, name) => store.get(kind, name),
    list: (kind) => store.list(kind),
    create: (object) => store.create(object),
    update: (object) => store.update(object),
    delete: (kind, name, preconditions) => store.delete(kind, name, preconditions),
    watch: (kind, options) => store.watch(kind, options),
    async updateStatus(object) {
      const after = await store.updateStatus(object);
      if (after.kind === 'Function') written.push(after as Resource as FunctionResource);
      return after;
    },
  };
  await world.upload('api', CODE);
  await world.start({ store: seen });
  return written;
}

/** The function serves; all that is written from then on. */
async function serving(): Promise<FunctionResource[]> {
  const written = await started();
  await world.createFunction('hello');
  await world.run(200);
  expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
  written.length = 0;
  return written;
}

/** `<status> <reason>` of Ready in each write, without repetitions. */
const course = (written: FunctionResource[]): string[] =>
  written.map((fn) => conditionOf(fn, 'Ready').split(':', 1)[0] ?? '').filter((text, at, all) => text !== all[at - 1]);

describe('Ready of a function', () => {
  it.each<[string, () => Promise<void>, string[]]>([
    [
      'an edit of its source',
      () => world.upload('api', EDITED),
      ['Unknown Building', 'Unknown Starting', 'True Ready'],
    ],
    ['other resources', () => world.edit('Function', 'hello', BIGGER), ['Unknown Starting', 'True Ready']],
    ['more replicas', () => world.edit('Function', 'hello', scaledTo(3)), ['Unknown Starting', 'True Ready']],
    [
      'an edit that changes nothing of what runs',
      () => world.edit('Function', 'hello', { description: 'other' }),
      ['True Ready'],
    ],
  ])('is never that of what served before: %s', async (_what, edit, expected) => {
    const written = await serving();
    await edit();
    await world.run(500);
    expect(course(written)).toEqual(expected);
    // The edit costs no more writes than what there is to say, and those of its instances.
    expect(written.length).toBeLessThanOrEqual(expected.length + 1);
    for (const fn of written.filter((each) => findCondition(each.status.conditions, 'Ready')?.status === 'True')) {
      const { status, metadata, spec } = fn;
      expect(status.observedGeneration).toBe(metadata.generation);
      expect(status.readyReplicas).toBeGreaterThanOrEqual(spec.scaling.minReplicas);
      expect(status.activeWorkload).toBe(desiredWorkload(fn, status.activeRevision ?? '').name);
    }
  });

  it('stays False, with the reason, where no node has room for the desired instances', async () => {
    await serving();
    world.workloads.startsAtOnce = false;
    await world.edit('Function', 'hello', { ...BIGGER, ...scaledTo(3) });
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toMatch(/^Unknown Starting: /);
    const fn = await world.fn('hello');
    world.workloads.hold(desiredWorkload(fn, fn.status.activeRevision ?? '').name, NO_CAPACITY);
    await world.run();
    const held = await world.fn('hello');
    expect(conditionOf(held, 'Ready')).toBe(
      `False Starting: 0 of 3 new instances are ready; earlier ones keep serving. ${NO_CAPACITY}`,
    );
    expect(conditionOf(held, 'Reconciling')).toBe(
      `True Starting: 0 of 3 new instances are ready; earlier ones keep serving. ${NO_CAPACITY}`,
    );
    expect(held.status.observedGeneration).toBe(held.metadata.generation);
    expect(held.status.readyReplicas).toBe(1);
    expect(conditionOf(held, 'Available')).toBe('False Starting: 1 of 3 instances take calls.');
  });

  it('counts the instances of the new revision, and names it, where an earlier one keeps serving', async () => {
    await serving();
    world.workloads.startsAtOnce = false;
    await world.upload('api', EDITED);
    await world.run();
    const { activeWorkload, activeRevision = '' } = (await world.fn('hello')).status;
    const next = world.workloads.list().find(({ name }) => name !== activeWorkload);
    world.workloads.hold(next?.name ?? '', NO_CAPACITY);
    await world.run();
    const held = await world.fn('hello');
    const count = `0 of 1 instances of revision ${next?.revision.slice(0, 12)} are ready. ${NO_CAPACITY}`;
    expect(conditionOf(held, 'CodeReady')).toBe(`False Starting: ${count}`);
    expect(conditionOf(held, 'Ready')).toBe(
      `False Starting: Revision ${activeRevision.slice(0, 12)} keeps serving. ${count}`,
    );
    expect(conditionOf(held, 'Available')).toBe('True MinimumReplicasAvailable: ');
  });

  it('is not True with one of three replicas', async () => {
    await serving();
    world.workloads.startsAtOnce = false;
    await world.edit('Function', 'hello', scaledTo(3));
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('Unknown Starting: 1 of 3 instances take calls.');
    world.workloads.markReady((await world.fn('hello')).status.activeWorkload ?? '');
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
  });

  it('stays as it is while an operator that has just begun builds again what is known to be good', async () => {
    const written = await serving();
    world.builder.hang();
    await world.start();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
    expect(written).toEqual([]);
    world.builder.release();
  });

  it.each([
    ['does not parse', 'False SyntaxError', { 'main.ts': "f('a' 'b')" }],
    ['has no handler', 'False HandlerNotFound', { 'other.ts': '' }],
  ])(
    'is Unknown, not what was wrong before, while the edit after one that %s is built',
    async (_what, wrong, files) => {
      const written = await serving();
      await world.upload('api', files);
      await world.run(500);
      await world.upload('api', EDITED);
      await world.run(500);
      const right = ['Unknown Starting', 'True Ready'];
      expect(course(written)).toEqual(['Unknown Building', wrong, 'Unknown Building', ...right]);
    },
  );

  it('stays False while an operator that has just begun builds again what is known to be wrong', async () => {
    const written = await serving();
    await world.upload('api', { 'main.ts': "f('a' 'b')" });
    await world.run(500);
    written.length = 0;
    world.builder.hang();
    await world.start();
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toMatch(/^False SyntaxError: /);
    expect(written).toEqual([]);
    world.builder.release();
  });

  it('is Unknown while an operator that has just begun builds what was edited while none ran', async () => {
    await started();
    await world.createFunction('hello');
    await world.run(200);
    await world.stop();
    await world.upload('api', EDITED);
    world.builder.hang();
    await world.start();
    await world.run();
    expect(conditionOf(await world.fn('hello'), 'Ready')).toMatch(
      /^Unknown Building: Revision [0-9a-f]{12} keeps serving\. The code/,
    );
    world.builder.release();
    await world.run(500);
    expect(conditionOf(await world.fn('hello'), 'Ready')).toBe('True Ready: ');
  });
});

describe('Available of a function that never answered has the reason of its code', () => {
  it.each<[string, () => void | Promise<void>, Partial<FunctionResource['spec']>]>([
    ['Building', () => world.builder.hang(), {}],
    ['Starting', () => void (world.workloads.startsAtOnce = false), {}],
    ['SourceNotFound', () => undefined, { handler: 'absent/main.ts' }],
    ['HandlerNotFound', () => undefined, { handler: 'api/absent.ts' }],
    ['SyntaxError', () => world.upload('api', { 'main.ts': "f('a' 'b')" }), {}],
    ['RevisionNotFound', () => undefined, { revision: 'f'.repeat(64) }],
  ])('%s', async (reason, reach, spec) => {
    await started();
    await reach();
    await world.createFunction('hello', spec);
    await world.run(500);
    const { conditions } = (await world.fn('hello')).status;
    const [available, code] = (['Available', 'CodeReady'] as const).map((type) => findCondition(conditions, type));
    expect(available).toMatchObject({ status: 'False', reason, message: code?.message });
    world.builder.release();
  });
});

describe('kstatus, by which Flux waits, reads', () => {
  let program: string;
  beforeAll(async () => {
    program = await kstatusProgram();
  }, 600_000);

  const edit = async (change: () => Promise<void>): Promise<Resource> => {
    await serving();
    await change();
    await world.run(500);
    return world.fn('hello');
  };
  const first = async (change: () => unknown, spec: object = {}): Promise<Resource> => {
    await started();
    await change();
    await world.createFunction('hello', spec);
    await world.run(500);
    return world.fn('hello');
  };
  const vault = { value: { secretKeyRef: { name: 'vault', key: 'k' } } };
  const fillVault = (): void => world.referencedSecrets.set('vault', { k: 'wh_a_key_in_a_secret' });
  const keyOf = async (secret?: () => void, spec: Partial<Resource<'ApiKey'>['spec']> = {}): Promise<Resource> => {
    await started();
    secret?.();
    await world.store.create({ kind: 'KeyGroup', metadata: { name: 'team' }, spec: {} });
    await world.store.create({
      kind: 'ApiKey',
      metadata: { name: 'key' },
      spec: { keyGroup: 'team', enabled: true, ...vault, ...spec },
    });
    await world.run();
    return world.get('ApiKey', 'key');
  };

  it.each<[Kstatus, string, () => Promise<Resource>]>([
    [
      'InProgress',
      'a function that nobody has seen',
      async () => {
        await world.createFunction('hello');
        // As the definition's default has it.
        return { ...(await world.fn('hello')), status: { observedGeneration: -1 } };
      },
    ],
    ['InProgress', 'a first build', () => first(() => world.builder.hang())],
    ['InProgress', 'first instances', () => first(() => (world.workloads.startsAtOnce = false))],
    ['Current', 'a function that serves', () => first(() => undefined)],
    [
      'InProgress',
      'an edit that the operator has not seen',
      async () => {
        await serving();
        await world.edit('Function', 'hello', BIGGER);
        return world.fn('hello');
      },
    ],
    [
      'InProgress',
      'instances with more memory',
      () =>
        edit(async () => {
          world.workloads.startsAtOnce = false;
          await world.edit('Function', 'hello', BIGGER);
        }),
    ],
    [
      'InProgress',
      'a build of an edited source',
      () =>
        edit(async () => {
          world.builder.hang();
          await world.upload('api', EDITED);
        }),
    ],
    [
      'InProgress',
      'instances of an edited source',
      () =>
        edit(async () => {
          world.workloads.startsAtOnce = false;
          await world.upload('api', EDITED);
        }),
    ],
    [
      'InProgress',
      'one of three replicas',
      () =>
        edit(async () => {
          world.workloads.startsAtOnce = false;
          await world.edit('Function', 'hello', scaledTo(3));
        }),
    ],
    ['Failed', 'an edit that does not parse', () => edit(() => world.upload('api', { 'main.ts': "f('a' 'b')" }))],
    [
      'Current',
      'an edit that fixes another',
      () =>
        edit(async () => {
          await world.upload('api', { 'main.ts': "f('a' 'b')" });
          await world.run(200);
          await world.upload('api', EDITED);
        }),
    ],
    [
      'InProgress',
      'the build of an edit that may fix another',
      () =>
        edit(async () => {
          await world.upload('api', { 'main.ts': "f('a' 'b')" });
          await world.run(200);
          world.builder.hang();
          await world.upload('api', EDITED);
        }),
    ],
    ['InProgress', 'a handler that is not uploaded yet', () => first(() => undefined, { handler: 'api/absent.ts' })],
    ['InProgress', 'a source that is not there yet', () => first(() => undefined, { handler: 'absent/main.ts' })],
    ['InProgress', 'key groups that are not there yet', () => first(() => undefined, { keyGroups: ['absent'] })],
    [
      'Failed',
      "another's route",
      () => first(() => world.createFunction('rival', { route: '/hello' }).then(() => world.run(100))),
    ],
    ['Failed', 'a pin that is gone', () => edit(() => world.edit('Function', 'hello', { revision: 'f'.repeat(64) }))],
    ['InProgress', 'a disabled function', () => edit(() => world.edit('Function', 'hello', { enabled: false }))],
    [
      'Terminating',
      'a function that is being deleted',
      () =>
        edit(async () => {
          const fn = await world.fn('hello');
          await world.store.update({ ...fn, metadata: { ...fn.metadata, finalizers: ['example.com/hold'] } });
          await world.store.delete('Function', 'hello');
        }),
    ],
    [
      'Current',
      'a source with files',
      async () => {
        await started();
        await world.run();
        return world.get('CodeSource', 'api');
      },
    ],
    [
      'InProgress',
      'a source without files',
      async () => {
        await started();
        await world.upload('api', {});
        await world.run();
        return world.get('CodeSource', 'api');
      },
    ],
    [
      'Failed',
      'a git source',
      async () => {
        await started();
        await world.store.create({
          kind: 'CodeSource',
          metadata: { name: 'git' },
          spec: { type: 'git', enabled: true, git: { url: 'https://git.example' } },
        });
        await world.run();
        return world.get('CodeSource', 'git');
      },
    ],
    ['Current', 'a key', () => keyOf(fillVault)],
    ['Current', 'a key that will expire', () => keyOf(fillVault, { expiresAt: '2027-01-01T00:00:00Z' })],
    ['Failed', 'a key that has expired', () => keyOf(fillVault, { expiresAt: '2025-01-01T00:00:00Z' })],
    ['InProgress', 'a disabled key', () => keyOf(fillVault, { enabled: false })],
    ['InProgress', 'a key whose Secret is not there yet', () => keyOf()],
    [
      'Failed',
      'a key whose Secret is not for keys',
      () => keyOf(() => world.referencedSecrets.refuse('vault', 'which Wherry manages for itself')),
    ],
    [
      'Current',
      'a key group',
      async () => {
        await keyOf();
        return world.get('KeyGroup', 'team');
      },
    ],
  ])('%s: %s', async (expected, _state, reach) => {
    const object = await reach();
    expect({ verdict: await kstatusOf(program, object), status: object.status }).toEqual({
      verdict: expected,
      status: object.status,
    });
    world.builder.release();
  });
});
