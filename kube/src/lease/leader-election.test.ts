import { eventually } from '@wherry/testing/eventually.ts';
import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import { FakeLogger } from '@wherry/testing/fakes/fake-logger.ts';
import { FakeMetrics } from '@wherry/testing/fakes/fake-metrics.ts';
import { systemClock } from '@wherry/service/clock.ts';
import { connectKube, type KubeClient, type KubeRequest } from '../client/kube-client.ts';
import type { KubeObject } from '../client/kube-object.ts';
import { startApiServer, type ApiServer } from '../testing/api-server.ts';
import { startFaultProxy, type FaultProxy } from '../testing/fault-proxy.ts';
import { makeNamespace } from '../testing/install-crds.ts';
import { LeaderElection } from './leader-election.ts';

const TIMES = { durationSeconds: 2, renewDeadlineMs: 1200, retryMs: 150 };
const STEP_MS = 50;

let server: ApiServer;
let direct: KubeClient;
beforeAll(async () => {
  server = await startApiServer();
  direct = await connect(server.kubeconfig);
}, 120_000);
afterAll(async () => {
  await direct.close();
  await server.stop();
});

/** One that wants to lead, with a network of its own. */
interface Candidate {
  election: LeaderElection;
  /** Requests that have no answer yet. */
  open: Set<Promise<unknown>>;
  /** Time passes whether it has its answers or not. */
  isFaulty: boolean;
  proxy: FaultProxy;
  client: KubeClient;
  metrics: FakeMetrics;
  changes: boolean[];
}

/** Of the elections; the network has the system's. */
let clock: FakeClock;
let namespace: string;
let candidates: Candidate[];
let watching: NodeJS.Timeout;
let bothAtOnce: number;
beforeEach(async () => {
  clock = new FakeClock();
  namespace = await makeNamespace(direct, 'lease');
  candidates = [await candidate('a'), await candidate('b')];
  bothAtOnce = 0;
  watching = setInterval(() => {
    if (candidates.every(({ election }) => election.isLeader())) bothAtOnce += 1;
  }, 1);
});
afterEach(async () => {
  for (const { election, client, proxy } of candidates) {
    await election.stop();
    await client.close();
    await proxy.stop();
  }
  clearInterval(watching);
  expect(bothAtOnce).toBe(0);
});

const connect = (kubeconfig: string) => connectKube({ kubeconfig, clock: systemClock });

async function candidate(identity: string): Promise<Candidate> {
  const proxy = await startFaultProxy(server);
  const client = await connect(proxy.kubeconfig);
  const open = new Set<Promise<unknown>>();
  const counted: KubeClient = {
    request<T>(request: KubeRequest) {
      const answer = client.request<T>(request);
      const done = (): void => void open.delete(answer);
      open.add(answer);
      answer.then(done, done);
      return answer;
    },
    watch: (watch) => client.watch(watch),
    close: () => client.close(),
  };
  const metrics = new FakeMetrics();
  const options = {
    client: counted,
    namespace,
    name: 'operator',
    identity,
    clock,
    logger: new FakeLogger(),
    metrics,
    times: TIMES,
  };
  const election = new LeaderElection(options);
  const changes: boolean[] = [];
  election.onChange((leads) => changes.push(leads));
  return { election, open, isFaulty: false, proxy, client, metrics, changes };
}

/**
 * Repeats a check until it passes; between two, as much time passes as between two attempts, which first have their
 * answers: however slow the server is, who renews in time goes on leading.
 */
function eventuallyThere(check: () => void | Promise<void>): Promise<void> {
  return eventually(async () => {
    await clock.idle();
    await Promise.allSettled(candidates.flatMap(({ open, isFaulty }) => (isFaulty ? [] : [...open])));
    await clock.advance(STEP_MS);
    await check();
  }, 30_000);
}

interface LeaseObject extends KubeObject {
  spec: { holderIdentity: string; leaseTransitions: number; leaseDurationSeconds: number };
}
const lease = () =>
  direct.request<LeaseObject>({
    method: 'GET',
    path: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/operator`,
  });

/** The first leads, the second waits. */
async function begin(): Promise<[Candidate, Candidate]> {
  const [first, second] = candidates as [Candidate, Candidate];
  first.election.start();
  await eventuallyThere(() => expect(first.election.isLeader()).toBe(true));
  second.election.start();
  return [first, second];
}

describe('leader election', () => {
  it('has one lead, who says so in the Lease, in the metric and once to its listeners', async () => {
    const [first, second] = await begin();
    const before = (await lease()).metadata.resourceVersion;
    await eventuallyThere(async () => expect((await lease()).metadata.resourceVersion).not.toBe(before));
    expect((await lease()).spec).toMatchObject({
      holderIdentity: expect.stringMatching(/^a_/),
      leaseTransitions: 0,
      leaseDurationSeconds: 2,
    });
    expect(second.election.isLeader()).toBe(false);
    expect([first.changes, second.changes]).toEqual([[true], []]);
    expect([first.metrics.value('leader'), second.metrics.value('leader')]).toEqual([1, 0]);
  });

  it('hands over within a retry when the leader stops', async () => {
    const [first, second] = await begin();
    const began = clock.monotonic();
    await first.election.stop();
    expect(first.election.isLeader()).toBe(false);
    await eventuallyThere(() => expect(second.election.isLeader()).toBe(true));
    // An attempt that had already begun, and a whole one.
    expect(clock.monotonic() - began).toBeLessThan(3 * TIMES.retryMs);
    expect((await lease()).spec).toMatchObject({ holderIdentity: expect.stringMatching(/^b_/), leaseTransitions: 1 });
    expect([first.changes, second.changes]).toEqual([[true, false], [true]]);
  });

  it.each<[string, (first: Candidate) => unknown]>([
    ['cannot reach the server', ({ proxy }) => proxy.sever()],
    ['gets no answer', ({ proxy }) => proxy.inject({ when: () => true, fault: { type: 'silence' } })],
    [
      'is notified of failures',
      ({ proxy }) => proxy.inject({ when: () => true, fault: { type: 'answer', code: 500 } }),
    ],
  ])('a leader that %s ceases to lead before another begins', async (_what, fault) => {
    const [first, second] = await begin();
    first.isFaulty = true;
    fault(first);
    await eventuallyThere(() => expect(first.election.isLeader()).toBe(false));
    expect(second.election.isLeader()).toBe(false);
    await eventuallyThere(() => expect(second.election.isLeader()).toBe(true));
    expect(first.changes).toEqual([true, false]);
    expect(first.metrics.value('leader')).toBe(0);
  });

  it('goes on leading over short faults, also where a write was done but its answer is lost', async () => {
    const [first, second] = await begin();
    const faults = [() => first.proxy.failWrite(1, 'before'), () => first.proxy.failWrite(1, 'after')];
    for (const fault of faults) {
      fault();
      const { length } = first.proxy.requests;
      await eventuallyThere(() =>
        expect(first.proxy.requests.slice(length).filter(({ kind }) => kind === 'write').length).toBeGreaterThan(2),
      );
    }
    expect([first.changes, second.changes]).toEqual([[true], []]);
  });

  it('a candidate whose first write was done unseen leads by it', async () => {
    const [first] = candidates as [Candidate, Candidate];
    first.proxy.failWrite(1, 'after');
    first.election.start();
    await eventuallyThere(() => expect(first.election.isLeader()).toBe(true));
    expect((await lease()).spec.leaseTransitions).toBe(0);
  });

  it('does not lead again by itself while another does', async () => {
    const [first, second] = await begin();
    first.isFaulty = true;
    const restore = first.proxy.sever();
    await eventuallyThere(() => expect(second.election.isLeader()).toBe(true));
    first.isFaulty = false;
    restore();
    const { length } = first.proxy.requests;
    await eventuallyThere(() => expect(first.proxy.requests.length).toBeGreaterThan(length + 3));
    expect([first.election.isLeader(), second.election.isLeader()]).toEqual([false, true]);
  });
});
