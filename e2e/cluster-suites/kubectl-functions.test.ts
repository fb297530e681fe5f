import { isDeepStrictEqual } from 'node:util';
import { testCluster } from '../cluster/test-cluster.ts';
import { eventually } from '../testing/api-client.ts';
import { definition, READY, text, useObjects, value } from '../testing/use-objects.ts';
import { conditionOf, isReady, WatchedFunction, type SeenFunction } from '../testing/watched-function.ts';

/*
 * Functions as kubectl makes, scales, watches and deletes them.
 */

const cluster = testCluster();
const suite = useObjects();
const { objects, rest, becomes } = suite;

describe('a function of kubectl', () => {
  it('serves what is uploaded over REST, and kubectl waits for it, lists it and describes it', async () => {
    await objects.apply('Function', 'objects-shown', definition('objects/one.js', '/objects/shown'));
    await objects.kubectl('wait', 'fn/objects-shown', ...READY);
    await becomes('/objects/shown', 200, 'one', 1000);
    const [head = '', row = ''] = (await objects.kubectl('get', 'fn', 'objects-shown')).split('\n');
    expect(head.split(/\s{2,}|\s*$/).filter(Boolean)).toEqual([
      'NAME',
      'READY',
      'REASON',
      'ROUTE',
      'REVISION',
      'REPLICAS',
      'AGE',
    ]);
    expect(row).toMatch(/^objects-shown\s+True\s+Ready\s+\/objects\/shown\s+[0-9a-f]{12}\s+1\s+\d+s/);
    const description = await objects.kubectl('describe', 'fn', 'objects-shown');
    expect(description).toMatch(/Events:\n[\s\S]*Normal\s+Ready\s+.*wherry-operator/);
    await suite.api.upload('objects', 'one.js', text('changed'));
    await becomes('/objects/shown', 200, 'changed');
    await suite.api.upload('objects', 'one.js', text('one'));
    await becomes('/objects/shown', 200, 'one');
    await objects.delete('fn', 'objects-shown');
    await becomes('/objects/shown', 404, undefined, 1000);
  });

  it('says why it is not ready, in a condition and in an event', async () => {
    await objects.apply('Function', 'objects-broken', definition('objects/missing.js', '/objects/broken'));
    await objects.kubectl(
      'wait',
      'fn/objects-broken',
      '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=HandlerNotFound',
      '--timeout=60s',
    );
    await eventually(async () =>
      expect(await objects.kubectl('describe', 'fn', 'objects-broken')).toMatch(
        /Warning\s+HandlerNotFound\s+.*missing\.js/,
      ),
    );
    await objects.delete('fn', 'objects-broken');
  });

  it('that comes second on a route says RouteConflict, and has the route when the first one goes', async () => {
    await objects.apply('Function', 'objects-older', definition('objects/one.js', '/objects/route'));
    await objects.kubectl('wait', 'fn/objects-older', ...READY);
    await objects.apply('Function', 'objects-younger', definition('objects/two.js', '/objects/route'));
    const conditionOf = async (type: string): Promise<{ reason: string; message: string }> => {
      const { status } = await objects.get('fn', 'objects-younger');
      return status.conditions.find((condition: { type: string }) => condition.type === type);
    };
    await eventually(async () =>
      expect(await conditionOf('Ready')).toMatchObject({
        status: 'False',
        reason: 'RouteConflict',
        message: expect.stringContaining('objects-older'),
      }),
    );
    expect(await conditionOf('RouteAccepted')).toMatchObject({ status: 'False', reason: 'RouteConflict' });
    await becomes('/objects/route', 200, 'one', 0);
    const third = await suite.api.request('POST', '/api/functions', {
      name: 'third',
      ...definition('objects/two.js', '/objects/route'),
    });
    expect([third.status, third.body.error]).toEqual([409, expect.stringContaining('objects-older')]);
    await objects.delete('fn', 'objects-older');
    await objects.kubectl('wait', 'fn/objects-younger', ...READY);
    await becomes('/objects/route', 200, 'two', 1000);
    await objects.delete('fn', 'objects-younger');
  });

  it('is scaled by kubectl scale, and goes with all that was made for it and its secrets', async () => {
    const name = 'objects-scaled';
    await objects.apply('Function', name, {
      ...definition('objects/one.js', '/objects/scaled'),
      scaling: { minReplicas: 1, maxReplicas: 2 },
    });
    await objects.apply('FunctionSecret', 'objects-function', {
      name: 'TOKEN',
      scope: 'function',
      function: name,
      value,
    });
    await objects.kubectl('wait', `fn/${name}`, ...READY);
    await objects.kubectl('scale', 'fn', name, '--replicas=2');
    await objects.kubectl('wait', `fn/${name}`, '--for=jsonpath={.status.readyReplicas}=2', '--timeout=60s');
    expect((await rest('GET', `/api/functions/${name}`)).function).toMatchObject({
      scaling: { minReplicas: 2 },
      status: { replicas: 2, readyReplicas: 2 },
    });
    await expect(objects.kubectl('scale', 'fn', name, '--replicas=3')).rejects.toThrow('spec.scaling.maxReplicas');
    const kinds = async (): Promise<string[]> =>
      [...new Set((await objects.namedAfter(name)).map((each) => each.split('/')[0] ?? ''))].toSorted();
    await eventually(async () =>
      expect(await kinds()).toEqual([
        'deployment.apps',
        'endpointslice.discovery.k8s.io',
        'pod',
        'poddisruptionbudget.policy',
        'replicaset.apps',
        'secret',
        'service',
      ]),
    );
    await objects.kubectl('wait', 'fsec/objects-function', ...READY);
    await objects.delete('fn', name);
    await becomes('/objects/scaled', 404, undefined, 1000);
    await eventually(async () => expect(await objects.namedAfter(name)).toEqual([]));
    expect(await objects.exists('fsec', 'objects-function')).toBe(false);
  });
});

describe('Ready of a function, watched by kubectl', () => {
  const name = 'objects-edited';
  const edit = (spec: object): Promise<void> => objects.patch('fn', name, { spec });
  let watched: WatchedFunction;

  beforeAll(async () => {
    await objects.apply('Function', name, definition('objects/one.js', '/objects/edited'));
    await objects.kubectl('wait', `fn/${name}`, ...READY);
    watched = new WatchedFunction(cluster, name);
    await watched.until(isReady);
  }, 60_000);
  afterAll(async () => {
    watched?.stop();
    await objects.delete('fn', name);
  }, 30_000);

  it.each<[string, () => Promise<unknown>, string]>([
    ['its spec', () => edit({ handler: 'objects/two.js' }), 'two'],
    ['its source', () => suite.api.upload('objects', 'two.js', text('edited')), 'edited'],
  ])(
    'an edit of %s is never Ready with the code of before',
    async (_what, makeEdit, word) => {
      const from = watched.seen.length;
      const before = watched.seen[from - 1]!;
      const isOld = ({ status }: SeenFunction): boolean => status.activeRevision === before.status.activeRevision;
      await makeEdit();
      await watched.until((seen) => isReady(seen) && !isOld(seen), from);
      await becomes('/objects/edited', 200, word, 1000);
      const judged = watched.seen
        .slice(from)
        .filter(({ generation, status }) => status.observedGeneration === generation);
      // An edit of the source leaves the generation as it is: Ready is true of it until the edit is seen.
      const course = judged.slice(judged.findIndex((seen) => seen.generation !== before.generation || !isReady(seen)));
      const steps = course.map((seen) => ({
        isReady: isReady(seen),
        isReconciling: conditionOf(seen, 'Reconciling')?.status === 'True',
        isOld: isOld(seen),
      }));
      expect(steps.filter((step, at) => !isDeepStrictEqual(step, steps[at - 1]))).toEqual([
        { isReady: false, isReconciling: true, isOld: true },
        { isReady: true, isReconciling: false, isOld: false },
      ]);
    },
    60_000,
  );

  it('instances that no node has room for are not Ready, and the message has how many there are; calls are answered, and taking it back is Ready', async () => {
    const { items } = JSON.parse(await cluster.kubectl(['get', 'nodes', '-o', 'json'])) as {
      items: { status: { allocatable: { memory: string } } }[];
    };
    // One more than all nodes could take if nothing else ran on them.
    const fit = items.reduce(
      (sum, { status }) => sum + Math.floor(Number.parseInt(status.allocatable.memory) / 1024 / 8192),
      0,
    );
    const replicas = fit + 1;
    await edit({ scaling: { minReplicas: replicas, maxReplicas: replicas }, resources: { memoryMiB: 64 } });
    await watched.until((seen) => isReady(seen) && seen.status.readyReplicas === replicas);
    const from = watched.seen.length;
    await edit({ resources: { memoryMiB: 8192 } });
    const message = new RegExp(
      `^\\d+ of ${replicas} new instances are ready; earlier ones keep serving\\. .*0/${items.length} nodes.*Insufficient memory`,
    );
    const short = await watched.until((seen) => message.test(conditionOf(seen, 'Ready')?.message ?? ''), from);
    const of = (type: string): unknown[] => [conditionOf(short, type)?.status, conditionOf(short, type)?.reason];
    expect([of('Ready'), of('Reconciling'), of('Available')]).toEqual([
      ['False', 'Starting'],
      ['True', 'Starting'],
      ['True', 'MinimumReplicasAvailable'],
    ]);
    await becomes('/objects/edited', 200, 'edited', 0);
    await edit({ resources: { memoryMiB: 64 } });
    const back = short.generation + 1;
    await watched.until((seen) => isReady(seen) && seen.generation === back, from);
    expect(
      watched.seen
        .slice(from)
        .filter(({ generation, status }) => generation === short.generation && status.observedGeneration === generation)
        .filter(isReady),
    ).toEqual([]);
  }, 90_000);
});
