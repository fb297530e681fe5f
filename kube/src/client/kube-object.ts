/** Metadata of any object of the API, as far as we read it. */
interface KubeMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: {
    apiVersion: string;
    kind: string;
    name: string;
    uid: string;
    controller?: boolean;
    blockOwnerDeletion?: boolean;
  }[];
}

/** An object as the API server sends it; everything besides the metadata depends on its kind. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: KubeMeta;
}

/** A list, or one piece of it. */
export interface KubeList<T extends KubeObject = KubeObject> {
  metadata: { resourceVersion: string; continue?: string };
  items: T[];
}
