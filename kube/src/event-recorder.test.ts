import { eventually } from '@wherry/testing/eventually.ts';
import { group } from '@wherry/testing/contracts/resource-store-samples.ts';
import { DomainError } from '@wherry/core/errors.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeResourceStore } from '@wherry/testing/fakes/fake-resource-store.ts';
import type { KeyGroupResource } from '@wherry/core/resources/kinds.ts';
import { systemClock } from '@wherry/service/clock.ts';
import type { KubeClient, KubeRequest } from './client/kube-client.ts';
import type { KubeObject } from './client/kube-object.ts';
import { listObjects } from './client/list-objects.ts';
import { makeNamespace } from './testing/install-crds.ts';
import { useApiServer } from './testing/use-api-server.ts';
import { EventRecorder } from './event-recorder.ts';

const PACE = { requestMs: 1, repeatMs: 50 };
const EVENT = { type: 'Warning', reason: 'CrashLoop', message: 'it ends again and again' } as const;

const api = useApiServer();

const sample = (namespace: string, name = 'team'): Promise<KeyGroupResource> =>
  new FakeResourceStore({ namespace }).create(group(name, 'confidential'));

interface EventObject extends KubeObject {
  count: number;
  message: string;
}

async function setUp() {
  const namespace = await makeNamespace(api.client, 'events');
  const logger = new FakeLogger();
  const recorder = new EventRecorder({
    client: api.client,
    namespace,
    component: 'wherry-operator',
    clock: systemClock,
    logger,
    pace: PACE,
  });
  const path = `/api/v1/namespaces/${namespace}/events`;
  const all = async () => (await listObjects<EventObject>(api.client, { path })).items;
  return { namespace, logger, recorder, all };
}

describe('event recorder', () => {
  it('records an event of its object, and counts the same one again', async () => {
    const { namespace, recorder, all, logger } = await setUp();
    const object = await sample(namespace);
    for (let n = 0; n < 5; n += 1) recorder.record(object, EVENT);
    await eventually(async () => expect(await all()).toHaveLength(1));
    for (let n = 0; n < 5; n += 1) recorder.record(object, EVENT);
    recorder.record(object, { type: 'Normal', reason: 'Ready', message: 'x'.repeat(2000) });
    await eventually(async () => expect((await all()).map((event) => event.count).sort()).toEqual([1, 10]));
    const recorded = await all();
    expect(recorded).toContainEqual(
      expect.objectContaining({
        ...EVENT,
        involvedObject: expect.objectContaining({
          kind: 'KeyGroup',
          name: 'team',
          uid: object.metadata.uid,
          namespace,
        }),
        source: { component: 'wherry-operator' },
      }),
    );
    expect(recorded.map((event) => event.message.length).sort()).toEqual([EVENT.message.length, 1024].sort());
    expect(JSON.stringify(recorded)).not.toContain('confidential');
    expect(logger.lines).toEqual([]);
    await recorder.stop();
  });

  it('records it again once its Event has expired', async () => {
    const { namespace, recorder, all } = await setUp();
    const object = await sample(namespace);
    recorder.record(object, EVENT);
    await eventually(async () => expect(await all()).toHaveLength(1));
    await api.client.request({
      method: 'DELETE',
      path: `/api/v1/namespaces/${namespace}/events/${(await all())[0]!.metadata.name}`,
    });
    recorder.record(object, EVENT);
    await eventually(async () => expect((await all()).map((event) => event.count)).toEqual([2]));
    await recorder.stop();
  });

  it('never throws, holds a bounded number, and keeps its pace while the API server refuses', async () => {
    const clock = new FakeClock();
    const logger = new FakeLogger();
    const requests: KubeRequest[] = [];
    const refusing: KubeClient = {
      ...api.client,
      request: (request) => {
        requests.push(request);
        return Promise.reject(new DomainError('unavailable', 'no'));
      },
    };
    const recorder = new EventRecorder({ client: refusing, namespace: 'x', component: 'test', clock, logger });
    const object = await sample('x');
    for (let n = 0; n < 5000; n += 1) recorder.record(object, { ...EVENT, message: `the ${n}th` });
    await clock.advance(1000);
    expect(requests.length).toBeLessThanOrEqual(11);
    await clock.advance(200_000);
    expect(requests.length).toBeLessThanOrEqual(501);
    expect(logger.lines.filter((line) => line.message.includes('dropped'))).toHaveLength(1);
    await recorder.stop();
    recorder.record(object, EVENT);
    expect(clock.pending).toBe(0);
  });

  it('sends one event that comes all the time once in ten seconds', async () => {
    const clock = new FakeClock();
    const requests: KubeRequest[] = [];
    const counting: KubeClient = {
      ...api.client,
      request: <T>(request: KubeRequest) => {
        requests.push(request);
        return Promise.resolve({} as T);
      },
    };
    const recorder = new EventRecorder({
      client: counting,
      namespace: 'x',
      component: 'test',
      clock,
      logger: new FakeLogger(),
    });
    const object = await sample('x');
    for (let n = 0; n < 290; n += 1) {
      recorder.record(object, EVENT);
      await clock.advance(100);
    }
    expect(requests.map((request) => [request.method, (request.body as { count: number }).count])).toEqual([
      ['POST', 1],
      ['PATCH', expect.any(Number)],
      ['PATCH', expect.any(Number)],
    ]);
    await recorder.stop();
  });
});
