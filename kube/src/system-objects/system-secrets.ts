import { isDomainError } from '@wherry/core/errors.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { KubeObject } from '../client/kube-object.ts';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../workloads/names.ts';

/** The data of a Secret or ConfigMap, and the state that it is of. */
export interface SystemObject {
  data: Record<string, Buffer>;
  resourceVersion: string;
}

/** Secrets, or ConfigMaps, of one namespace, by name. */
export interface SystemObjects {
  get(name: string): Promise<SystemObject | undefined>;
  /** @throws DomainError `conflict` when there is one of the name. */
  create(name: string, data: Record<string, Buffer>): Promise<SystemObject>;
  /** Replaces the data; labels and annotations of others stay. @throws DomainError `conflict` when it is not of that state any more. */
  update(name: string, data: Record<string, Buffer>, resourceVersion: string): Promise<SystemObject>;
}

interface DataObject extends KubeObject {
  data?: Record<string, string>;
}

interface Options {
  client: KubeClient;
  namespace: string;
}

/** Secrets that Wherry makes for itself. */
export function createSystemSecrets({ client, namespace }: Options): SystemObjects {
  return systemObjects(client, { path: `/api/v1/namespaces/${namespace}/secrets`, kind: 'Secret', encoding: 'base64' });
}

/** ConfigMaps that Wherry makes for itself; their data is text. */
export function createSystemConfigMaps({ client, namespace }: Options): SystemObjects {
  return systemObjects(client, { path: `/api/v1/namespaces/${namespace}/configmaps`, kind: 'ConfigMap', encoding: 'utf8' });
}

function systemObjects(client: KubeClient, { path, kind, encoding }: { path: string; kind: string; encoding: 'base64' | 'utf8' }): SystemObjects {
  const encode = (data: Record<string, Buffer>): Record<string, string> => Object.fromEntries(Object.entries(data).map(([key, bytes]) => [key, bytes.toString(encoding)]));
  const decode = ({ metadata, data = {} }: DataObject): SystemObject => ({
    resourceVersion: metadata.resourceVersion,
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, encoding)])),
  });

  return {
    async get(name) {
      try {
        return decode(await client.request<DataObject>({ method: 'GET', path: `${path}/${name}` }));
      } catch (error) {
        if (isDomainError(error, 'not_found')) return undefined;
        throw error;
      }
    },
    async create(name, data) {
      const metadata = { name, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } };
      return decode(await client.request<DataObject>({ method: 'POST', path, body: { apiVersion: 'v1', kind, metadata, data: encode(data) } }));
    },
    async update(name, data, resourceVersion) {
      // A merge: what stands at other entries and fields, others may have put there. Entries that are no more go by null.
      const before = await client.request<DataObject>({ method: 'GET', path: `${path}/${name}` });
      const gone = Object.keys(before.data ?? {}).filter((key) => !(key in data));
      const body = { metadata: { resourceVersion }, data: { ...encode(data), ...Object.fromEntries(gone.map((key) => [key, null])) } };
      return decode(await client.request<DataObject>({ method: 'PATCH', path: `${path}/${name}`, contentType: 'application/merge-patch+json', body }));
    },
  };
}
