import { FakeClock } from '@wherry/testing/fakes/fake-clock.ts';
import type { RuntimeHello } from '@wherry/core/ports/cluster-workloads.ts';
import { identifyRuntime } from './identify-runtime.ts';
import { FUNCTION_LABEL, FUNCTION_UID_ANNOTATION, REVISION_ANNOTATION, WORKLOAD_LABEL } from './names.ts';
import type { Pod } from './pod.ts';

const HELLO: RuntimeHello = {
  type: 'hello',
  role: 'runtime',
  instance: 'hello-1-x',
  workload: 'hello-1',
  functionUid: 'uid-1',
  token: 't',
};

function podOf(status: Pod['status'] = {}, functionUid = 'uid-1'): Pod {
  const annotations = { [FUNCTION_UID_ANNOTATION]: functionUid, [REVISION_ANNOTATION]: 'sha256:1' };
  const labels = { [WORKLOAD_LABEL]: 'hello-1', [FUNCTION_LABEL]: 'hello' };
  return {
    metadata: { name: 'hello-1-x', uid: 'pod-uid', resourceVersion: '1', annotations, labels },
    status: { phase: 'Running', ...status },
  };
}

/** The cache of pods, as far as it is read. */
class Pods {
  readonly #callbacks = new Set<(name: string, pod: Pod | undefined) => void>();
  #pod: Pod | undefined;

  constructor(pod?: Pod) {
    this.#pod = pod;
  }

  get waiting(): number {
    return this.#callbacks.size;
  }

  get(name: string): Pod | undefined {
    return this.#pod?.metadata.name === name ? this.#pod : undefined;
  }

  onChange(callback: (name: string, pod: Pod | undefined) => void): () => void {
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  set(pod: Pod): void {
    this.#pod = pod;
    for (const callback of this.#callbacks) callback(pod.metadata.name, pod);
  }
}

describe('S8: which pod a runtime is', () => {
  const clock = new FakeClock();
  const from = (address: string, pods: Pods, gone = new AbortController().signal) =>
    identifyRuntime(HELLO, { address, gone }, { pods, clock });
  const DUAL = { podIP: '10.1.0.7', podIPs: [{ ip: '10.1.0.7' }, { ip: 'fd00::7' }] };

  it.each(['10.1.0.7', 'fd00::7', 'fd00:0:0::7'])(
    'is the one with that address, of either family: %s',
    async (address) => {
      expect(await from(address, new Pods(podOf(DUAL)))).toMatchObject({
        instanceId: 'hello-1-x',
        functionName: 'hello',
        listen: { host: '10.1.0.7' },
      });
    },
  );

  it.each<[string, Pods, string]>([
    ['has another address', new Pods(podOf(DUAL)), '10.1.0.8'],
    ['has no address', new Pods(podOf()), '10.1.0.7'],
    ["has failed, so that its address may be another pod's", new Pods(podOf({ ...DUAL, phase: 'Failed' })), '10.1.0.7'],
    ['is not there', new Pods(), '10.1.0.7'],
    ['has that address, where the connection has none any more', new Pods(podOf(DUAL)), ''],
  ])('is none, after ten seconds, where the pod %s', async (_what, pods, address) => {
    const identity = from(address, pods);
    expect(pods.waiting).toBe(1);
    await clock.advance(10_000);
    expect(await identity).toBeUndefined();
    expect([pods.waiting, clock.pending]).toEqual([0, 0]);
  });

  it("is none, at once, where the pod is another function's", async () => {
    expect(await from('10.1.0.7', new Pods(podOf(DUAL, 'uid-2')))).toBeUndefined();
  });

  it('is the pod once the cache has it there', async () => {
    const pods = new Pods();
    const identity = from('10.1.0.9', pods);
    pods.set(podOf());
    pods.set(podOf(DUAL));
    pods.set(podOf({ podIP: '10.1.0.9' }));
    expect(await identity).toMatchObject({ listen: { host: '10.1.0.9' } });
    expect([pods.waiting, clock.pending]).toEqual([0, 0]);
  });

  it("is nobody's concern any more when the connection has ended", async () => {
    const [pods, connection] = [new Pods(), new AbortController()];
    const identity = from('10.1.0.7', pods, connection.signal);
    connection.abort();
    expect(await identity).toBeUndefined();
    expect(await from('10.1.0.7', pods, connection.signal)).toBeUndefined();
    expect([pods.waiting, clock.pending]).toEqual([0, 0]);
  });
});
