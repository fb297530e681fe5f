import type {
  V1NetworkPolicy, V1NetworkPolicyEgressRule, V1NetworkPolicyPeer, V1NetworkPolicyPort, V1NetworkPolicySpec,
} from '@kubernetes/client-node';
import { podSelector, workloadMetadata } from './build-metadata.ts';
import { CALL_PORT, FEED_PORT, NAME_LABEL } from './names.ts';
import type { BuildInput, WorkloadSettings } from './workload-settings.ts';

/** As it is sent: client-node calls `from` `_from` in its own type, and renames it on its way out. */
export interface NetworkPolicy extends Omit<V1NetworkPolicy, 'spec'> {
  spec: Omit<V1NetworkPolicySpec, 'ingress'> & { ingress: { from: V1NetworkPolicyPeer[]; ports: V1NetworkPolicyPort[] }[] };
}

/** Calls from routers alone; out to names, the feed and the internet, but not to what is inside the cluster. */
export function buildNetworkPolicy({ desired, settings }: BuildInput): NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: workloadMetadata(desired.name, settings.namespace, desired),
    spec: {
      podSelector: { matchLabels: podSelector(desired) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [component('router', settings)], ports: [{ protocol: 'TCP', port: CALL_PORT }] }],
      egress: [
        // Anywhere: resolvers run in pods, on nodes or at link-local addresses.
        { ports: [{ protocol: 'UDP', port: 53 }, { protocol: 'TCP', port: 53 }] },
        { to: [component('operator', settings)], ports: [{ protocol: 'TCP', port: FEED_PORT }] },
        internet(settings.clusterRanges),
      ],
    },
  };
}

/** The pods of a program of this release, as the chart labels them. */
function component(name: string, settings: WorkloadSettings): V1NetworkPolicyPeer {
  return {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': settings.systemNamespace } },
    podSelector: {
      matchLabels: { [NAME_LABEL]: 'wherry', 'app.kubernetes.io/instance': settings.name, 'app.kubernetes.io/component': name },
    },
  };
}

function internet(clusterRanges: readonly string[]): V1NetworkPolicyEgressRule {
  const isV6 = (cidr: string): boolean => cidr.includes(':');
  const block = (cidr: string, ranges: string[]): V1NetworkPolicyPeer => ({
    ipBlock: { cidr, ...(ranges.length === 0 ? {} : { except: ranges }) },
  });
  return {
    to: [block('0.0.0.0/0', clusterRanges.filter((cidr) => !isV6(cidr))), block('::/0', clusterRanges.filter(isV6))],
  };
}
