import type { V1Service } from '@kubernetes/client-node';
import { podSelector, workloadMetadata } from './build-metadata.ts';
import { CALL_PORT, serviceName } from './names.ts';
import type { WorkloadInput } from './workload-settings.ts';

/** Headless: it is there for its EndpointSlices, which say which instances take calls. */
export function buildService({ desired, settings }: WorkloadInput): V1Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: workloadMetadata(serviceName(desired.name), settings.namespace, desired),
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      selector: podSelector(desired),
      ports: [{ name: 'calls', port: CALL_PORT, targetPort: CALL_PORT, protocol: 'TCP' }],
    },
  };
}
