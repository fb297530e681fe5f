import { BlockList, isIP, isIPv6 } from 'node:net';
import type { RuntimeHello, RuntimePeer } from '@wherry/core/ports/cluster-workloads.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { RuntimeIdentity } from '@wherry/core/ports/runtime-feed.ts';
import type { ObjectCache } from '../object-cache.ts';
import { CALL_PORT, FUNCTION_UID_ANNOTATION, REVISION_ANNOTATION } from './names.ts';
import { functionOf, workloadOf, type Pod } from './pod.ts';

/**
 * A runtime may connect before the cache has its pod's address, or has it again after the pod's network was set up
 * again.
 */
const PATIENCE_MS = 10_000;

/**
 * Which instance a runtime is: the pod that it names, if that is of the workload and function that it names and has the
 * address that it connects from (S8). Its own claims are not trusted; the listener of the feed has checked its token.
 * @returns undefined when there is no such pod after ten seconds, or it is another function's.
 */
export async function identifyRuntime(
  hello: RuntimeHello,
  peer: RuntimePeer,
  { pods, clock }: { pods: Pick<ObjectCache<Pod>, 'get' | 'onChange'>; clock: Clock },
): Promise<RuntimeIdentity | undefined> {
  const isThere = (pod: Pod | undefined): pod is Pod =>
    pod !== undefined && (!isWhatItSays(pod, hello) || hasAddress(pod, peer.address));
  const known = pods.get(hello.instance);
  const pod = isThere(known)
    ? known
    : await untilThere({ name: hello.instance, isThere, gone: peer.gone }, pods, clock);
  return pod !== undefined && isWhatItSays(pod, hello) ? identityOf(pod) : undefined;
}

function isWhatItSays(pod: Pod, { workload, functionUid }: RuntimeHello): boolean {
  return workloadOf(pod) === workload && pod.metadata.annotations?.[FUNCTION_UID_ANNOTATION] === functionUid;
}

/** A pod that has ended keeps its address in its status, while another pod may have it already. */
function hasAddress({ status: { phase, podIP, podIPs = [] } = {} }: Pod, address: string): boolean {
  if (podIP === undefined || phase === 'Failed' || phase === 'Succeeded' || isIP(address) === 0) return false;
  // It compares addresses, however they are written.
  const list = new BlockList();
  for (const ip of new Set([podIP, ...podIPs.map((one) => one.ip)])) list.addAddress(ip, familyOf(ip));
  return list.check(address, familyOf(address));
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

function identityOf(pod: Pod): RuntimeIdentity | undefined {
  const [workload, functionName, revision] = [
    workloadOf(pod),
    functionOf(pod),
    pod.metadata.annotations?.[REVISION_ANNOTATION],
  ];
  const host = pod.status?.podIP;
  if (workload === undefined || functionName === undefined || revision === undefined || host === undefined)
    return undefined;
  return { instanceId: pod.metadata.name, workload, functionName, revision, listen: { host, port: CALL_PORT } };
}

interface Wanted {
  name: string;
  isThere: (pod: Pod | undefined) => pod is Pod;
  gone: AbortSignal;
}

function untilThere(
  { name, isThere, gone }: Wanted,
  pods: Pick<ObjectCache<Pod>, 'onChange'>,
  clock: Clock,
): Promise<Pod | undefined> {
  const { promise, resolve } = Promise.withResolvers<Pod | undefined>();
  const giveUp = (): void => resolve(undefined);
  const cancel = clock.after(PATIENCE_MS, giveUp);
  gone.addEventListener('abort', giveUp);
  if (gone.aborted) giveUp();
  const stop = pods.onChange((changed, pod) => {
    if (changed === name && isThere(pod)) resolve(pod);
  });
  return promise.finally(() => {
    cancel();
    stop();
    gone.removeEventListener('abort', giveUp);
  });
}
