import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import { API_VERSION } from '@wherry/core/resources/meta.ts';
import type { V1ObjectMeta } from '@kubernetes/client-node';
import {
  FUNCTION_LABEL,
  FUNCTION_POD_NAME,
  FUNCTION_UID_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  NAME_LABEL,
  REVISION_ANNOTATION,
  REVISION_LABEL,
  WORKLOAD_LABEL,
} from './names.ts';

/** For every object of a function: owned by it, so that Kubernetes removes it with the function. */
export function ownedMetadata(
  name: string,
  namespace: string,
  { functionName, functionUid }: Pick<DesiredWorkload, 'functionName' | 'functionUid'>,
): V1ObjectMeta & { labels: Record<string, string> } {
  return {
    name,
    namespace,
    labels: { [NAME_LABEL]: FUNCTION_POD_NAME, [MANAGED_BY_LABEL]: MANAGED_BY, [FUNCTION_LABEL]: functionName },
    annotations: { [FUNCTION_UID_ANNOTATION]: functionUid },
    ownerReferences: [
      {
        apiVersion: API_VERSION,
        kind: 'Function',
        name: functionName,
        uid: functionUid,
        controller: true,
        blockOwnerDeletion: false,
      },
    ],
  };
}

/** For every object of a workload. */
export function workloadMetadata(name: string, namespace: string, desired: DesiredWorkload): V1ObjectMeta {
  const metadata = ownedMetadata(name, namespace, desired);
  return {
    ...metadata,
    labels: { ...metadata.labels, ...identityLabels(desired) },
    annotations: identityAnnotations(desired),
  };
}

/** For a workload's pods. */
export function podMetadata(desired: DesiredWorkload): V1ObjectMeta {
  const { labels } = ownedMetadata('', '', desired);
  return { labels: { ...labels, ...identityLabels(desired) }, annotations: identityAnnotations(desired) };
}

/** The selector of exactly a workload's pods. */
export function podSelector({ name }: Pick<DesiredWorkload, 'name'>): Record<string, string> {
  return { [WORKLOAD_LABEL]: name };
}

function identityLabels({ name, revision }: DesiredWorkload): Record<string, string> {
  return { [WORKLOAD_LABEL]: name, [REVISION_LABEL]: revision.slice(0, 63) };
}

function identityAnnotations({ revision, functionUid }: DesiredWorkload): Record<string, string> {
  return { [REVISION_ANNOTATION]: revision, [FUNCTION_UID_ANNOTATION]: functionUid };
}
