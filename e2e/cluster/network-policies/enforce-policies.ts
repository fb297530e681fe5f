import type { Cluster } from '../cluster.ts';
import { kindName } from '../names.ts';
import type { NetworkPolicy, PolicyPod, PolicyWorld } from './network-policy.ts';
import { TABLE, translatePolicies } from './translate-policies.ts';

/**
 * Stands in for the agent of a network plugin that enforces NetworkPolicies, on a cluster of one node that has none.
 */
export interface PolicyEnforcement {
  /** Brings policies, pods and namespaces as they are now into effect. */
  refresh(): Promise<void>;
  /** Removes all rules. */
  remove(): Promise<void>;
}

interface Item {
  kind: string;
  metadata: { name: string; namespace: string; labels?: Record<string, string> };
  spec: { hostNetwork?: boolean };
  status?: { podIP?: string; phase?: string };
}

/** Nothing is enforced before the first `refresh`. */
export function enforcePolicies(cluster: Cluster): PolicyEnforcement {
  const onNode = async (args: readonly string[], input?: string): Promise<void> => {
    const node = `${kindName(cluster.name)}-control-plane`;
    const { code, stderr } = await cluster.run(
      'docker',
      ['exec', '-i', node, ...args],
      input === undefined ? {} : { input },
    );
    if (code !== 0) throw new Error(`${args.join(' ')} on the node ended with ${code}: ${stderr}`);
  };
  return {
    refresh: async () => onNode(['nft', '-f', '-'], translatePolicies(await readWorld(cluster))),
    remove: () => onNode(['nft', '-f', '-'], `table inet ${TABLE} {}\ndelete table inet ${TABLE}\n`),
  };
}

async function readWorld(cluster: Cluster): Promise<PolicyWorld> {
  const text = await cluster.kubectl(['get', 'namespaces,pods,networkpolicies', '--all-namespaces', '-o', 'json']);
  const { items } = JSON.parse(text) as { items: Item[] };
  const ofKind = (kind: string): Item[] => items.filter((item) => item.kind === kind);
  return {
    policies: ofKind('NetworkPolicy') as unknown as NetworkPolicy[],
    pods: ofKind('Pod').flatMap(podOf),
    namespaces: Object.fromEntries(ofKind('Namespace').map(({ metadata }) => [metadata.name, metadata.labels ?? {}])),
  };
}

/** One of the node's network, or one that has ended, has no address that is its own. */
function podOf({ metadata, spec, status }: Item): PolicyPod[] {
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (spec.hostNetwork === true || hasEnded || status?.podIP === undefined) return [];
  return [{ namespace: metadata.namespace, name: metadata.name, labels: metadata.labels ?? {}, address: status.podIP }];
}
