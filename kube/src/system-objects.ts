import { conflict, isDomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { FollowedObject, SystemObject, SystemObjects } from '@wherry/core/ports/system-objects.ts';
import type { KubeClient } from './client/kube-client.ts';
import type { KubeObject } from './client/kube-object.ts';
import { createObjectCache } from './object-cache.ts';

interface SystemObjectsOptions {
  client: KubeClient;
  namespace: string;
}

/** How a kind's data is written. */
interface Coding<V> {
  kind: 'Secret' | 'ConfigMap';
  encode(value: V): string;
  decode(text: string): V;
}

interface RawObject extends KubeObject {
  data?: Record<string, string>;
}

/** The Secrets of a namespace that are Wherry's own: keys and certificates. */
export function createSystemSecrets(options: SystemObjectsOptions): SystemObjects<Buffer> {
  const coding = {
    kind: 'Secret' as const,
    encode: (value: Buffer) => value.toString('base64'),
    decode: (text: string) => Buffer.from(text, 'base64'),
  };
  return new KeyedObjects(options, coding);
}

/** The ConfigMaps of a namespace that are Wherry's own. */
export function createSystemConfigMaps(options: SystemObjectsOptions): SystemObjects<string> {
  return new KeyedObjects(options, {
    kind: 'ConfigMap',
    encode: (value: string) => value,
    decode: (text: string) => text,
  });
}

interface KeptSecret extends KubeObject {
  content: SystemObject;
}

/** One Secret by a watch of its own, which a role can allow by its name. */
export function followSystemSecret({
  name,
  ...options
}: SystemObjectsOptions & { name: string; clock: Clock; logger: Logger }): FollowedObject {
  const cache = createObjectCache<KeptSecret>({
    ...options,
    path: `/api/v1/namespaces/${options.namespace}/secrets`,
    fieldSelector: `metadata.name=${name}`,
    keep({ metadata, data = {} }: RawObject) {
      const { uid, resourceVersion } = metadata;
      const decoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const);
      return {
        metadata: { name, uid, resourceVersion },
        content: { data: Object.fromEntries(decoded), resourceVersion },
      };
    },
  });
  return {
    start: () => cache.start(),
    stop: () => cache.stop(),
    onChange: (callback) => cache.onChange((_name, secret) => callback(secret?.content)),
  };
}

class KeyedObjects<V> implements SystemObjects<V> {
  readonly #client: KubeClient;
  readonly #path: string;
  readonly #coding: Coding<V>;

  constructor({ client, namespace }: SystemObjectsOptions, coding: Coding<V>) {
    this.#client = client;
    this.#coding = coding;
    this.#path = `/api/v1/namespaces/${namespace}/${coding.kind.toLowerCase()}s`;
  }

  async get(name: string): Promise<SystemObject<V> | undefined> {
    try {
      return this.#decode(await this.#read(name));
    } catch (error) {
      if (isDomainError(error, 'not_found')) return undefined;
      throw error;
    }
  }

  async create(name: string, data: Record<string, V>): Promise<SystemObject<V>> {
    const body = { apiVersion: 'v1', kind: this.#coding.kind, metadata: { name }, data: this.#encode(data) };
    return this.#decode(await this.#client.request({ method: 'POST', path: this.#path, body }));
  }

  async update(name: string, data: Record<string, V>, resourceVersion: string): Promise<SystemObject<V>> {
    const raw = await this.#read(name);
    if (raw.metadata.resourceVersion !== resourceVersion) {
      throw conflict(`${this.#coding.kind} "${name}" has changed since it was read: read it again and retry`);
    }
    const body = { ...raw, data: this.#encode(data) };
    return this.#decode(await this.#client.request({ method: 'PUT', path: this.#pathOf(name), body }));
  }

  #read(name: string): Promise<RawObject> {
    return this.#client.request({ method: 'GET', path: this.#pathOf(name) });
  }

  #pathOf(name: string): string {
    return `${this.#path}/${encodeURIComponent(name)}`;
  }

  #encode(data: Record<string, V>): Record<string, string> {
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, this.#coding.encode(value)]));
  }

  #decode({ metadata, data = {} }: RawObject): SystemObject<V> {
    const decoded = Object.entries(data).map(([key, text]) => [key, this.#coding.decode(text)]);
    return {
      data: Object.fromEntries(decoded) as Record<string, V>,
      resourceVersion: metadata.resourceVersion,
    };
  }
}
