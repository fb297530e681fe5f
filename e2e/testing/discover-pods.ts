import { podsOf } from './cluster-pods.ts';
import type { Cluster } from '../cluster/cluster.ts';

/** Of a scrape configuration: pods as Prometheus discovers them. */
export interface PodDiscovery {
  role: string;
  namespaces: { names: string[] };
  selectors?: { role: string; label: string }[];
}

/** As a file of `file_sd_configs` has it. */
interface TargetGroup {
  targets: string[];
  labels: Record<string, string>;
}

/**
 * What Prometheus' own discovery of pods finds: a target for each port of each container, with the labels that
 * relabelling uses. Debian's Prometheus is built without it, and only it: what follows on it is Prometheus' own work.
 * @throws Error for a discovery of something else
 */
export async function discoverPods(
  cluster: Cluster,
  { role, namespaces, selectors = [] }: PodDiscovery,
): Promise<TargetGroup[]> {
  if (role !== 'pod') throw new Error(`the discovery of role ${role} is not known here`);
  const labels = Object.fromEntries(
    selectors.flatMap(({ label }) => label.split(',').map((each) => each.split('=', 2) as [string, string])),
  );
  const pods = (await Promise.all(namespaces.names.map((namespace) => podsOf(cluster, namespace, labels)))).flat();
  return pods.flatMap(({ metadata, spec, status }) =>
    spec.containers.flatMap((container) =>
      (container.ports ?? []).map(({ containerPort, name = '' }) => ({
        targets: [`${status.podIP}:${containerPort}`],
        labels: {
          __meta_kubernetes_namespace: metadata.namespace,
          __meta_kubernetes_pod_name: metadata.name,
          __meta_kubernetes_pod_ip: status.podIP ?? '',
          __meta_kubernetes_pod_container_name: container.name,
          __meta_kubernetes_pod_container_port_name: name,
          __meta_kubernetes_pod_container_port_number: String(containerPort),
          ...metaLabels('label', metadata.labels),
          ...metaLabels('annotation', metadata.annotations ?? {}),
        },
      })),
    ),
  );
}

const metaLabels = (what: string, values: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      `__meta_kubernetes_pod_${what}_${name.replaceAll(/\W/g, '_')}`,
      value,
    ]),
  );
