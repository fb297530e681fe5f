import type { V1Secret } from '@kubernetes/client-node';
import { ownedMetadata } from './build-metadata.ts';
import { feedSecretName } from './names.ts';
import type { WorkloadInput } from './workload-settings.ts';

/** What a function's pods prove themselves with at the feed; one for all of its workloads. */
export function buildFeedSecret({ desired, settings }: WorkloadInput, token: string): V1Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: ownedMetadata(feedSecretName(desired.functionName), settings.namespace, desired),
    type: 'Opaque',
    data: { token: Buffer.from(token).toString('base64') },
  };
}
