import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { KubeObject } from '../client/kube-object.ts';
import { createObjectCache } from '../objects/object-cache.ts';

interface Secret extends KubeObject {
  type?: string;
  /** Base64. */
  data?: Record<string, string>;
}

/** Secrets that Kubernetes and Helm keep for themselves: releases of Helm are large, and nobody refers to them. */
const OTHERS = /^(?:helm\.sh\/|kubernetes\.io\/(?:service-account-token|dockerc))/;

export interface ReferencedSecretsOptions {
  client: KubeClient;
  /** Of the objects that refer to them. */
  namespace: string;
  clock: Clock;
  logger: Logger;
}

/**
 * The Secrets of a namespace, from a cache that is kept current. Start it before whoever reads it: until it is full,
 * every Secret seems to be missing.
 */
export function createReferencedSecrets(
  { client, namespace, clock, logger }: ReferencedSecretsOptions,
): ReferencedSecrets & { start(): Promise<void>; stop(): Promise<void> } {
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const cache = createObjectCache<Secret>({ client, path, clock, logger, keep: keepData });
  return {
    start: () => cache.start(),
    stop: () => cache.stop(),
    get: (name) => {
      const secret = cache.get(name);
      return secret && new Map(Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]));
    },
    onChange: (callback) => cache.onChange((name) => callback(name)),
  };
}

/** Without managed fields and annotations: `kubectl apply` keeps a second copy of the data there. */
function keepData({ metadata, type, data }: Secret): Secret {
  const { name, uid, resourceVersion } = metadata;
  const kept = { metadata: { name, uid, resourceVersion } };
  return data === undefined || OTHERS.test(type ?? '') ? kept : { ...kept, data };
}
