import type { KubeClient } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';

/**
 * Server-side apply: the object gets the fields that are given, and loses those that this manager set before and no
 * longer sets; what others set stays. Fields that another manager owns become ours.
 */
export function applyObject<T extends KubeObject>(
  client: KubeClient,
  { path, object, fieldManager }: { path: string; object: object; fieldManager: string },
): Promise<T> {
  return client.request<T>({
    method: 'PATCH',
    path,
    query: { fieldManager, force: true },
    contentType: 'application/apply-patch+yaml',
    body: object,
  });
}
