import type { Hello } from '@wherry/core/feed/messages.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { RuntimeIdentity } from '@wherry/core/ports/runtime-feed.ts';
import type { ObjectCache } from '../objects/object-cache.ts';
import { CALL_PORT, FUNCTION_UID_ANNOTATION, REVISION_ANNOTATION } from './names.ts';
import { functionOf, workloadOf, type Pod } from './pod.ts';

export type RuntimeHello = Extract<Hello, { role: 'runtime' }>;

/** A runtime may speak before the cache has seen its pod's address. */
const PATIENCE_MS = 10_000;

/**
 * Which instance a runtime is, by the pod that it names: the API's word counts, not the runtime's. Its token is checked
 * before, by the feed's listener.
 * @returns undefined when there is no such pod after ten seconds, or it is not what the runtime says.
 */
export async function identifyRuntime(
  hello: RuntimeHello,
  { pods, clock }: { pods: Pick<ObjectCache<Pod>, 'get' | 'onChange'>; clock: Clock },
): Promise<RuntimeIdentity | undefined> {
  const known = pods.get(hello.instance);
  const pod = hasAddress(known) ? known : await untilAddress(hello.instance, pods, clock);
  return pod !== undefined && isWhatItSays(pod, hello) ? identityOf(pod) : undefined;
}

function hasAddress(pod: Pod | undefined): pod is Pod {
  return pod?.status?.podIP !== undefined;
}

function isWhatItSays(pod: Pod, { workload, functionUid }: RuntimeHello): boolean {
  return workloadOf(pod) === workload && pod.metadata.annotations?.[FUNCTION_UID_ANNOTATION] === functionUid;
}

function identityOf(pod: Pod): RuntimeIdentity | undefined {
  const [workload, functionName, revision] = [workloadOf(pod), functionOf(pod), pod.metadata.annotations?.[REVISION_ANNOTATION]];
  const host = pod.status?.podIP;
  if (workload === undefined || functionName === undefined || revision === undefined || host === undefined) return undefined;
  return { instanceId: pod.metadata.name, workload, functionName, revision, listen: { host, port: CALL_PORT } };
}

function untilAddress(name: string, pods: Pick<ObjectCache<Pod>, 'onChange'>, clock: Clock): Promise<Pod | undefined> {
  const { promise, resolve } = Promise.withResolvers<Pod | undefined>();
  const cancel = clock.after(PATIENCE_MS, () => resolve(undefined));
  const stop = pods.onChange((changed, pod) => {
    if (changed === name && hasAddress(pod)) resolve(pod);
  });
  return promise.finally(() => {
    cancel();
    stop();
  });
}
