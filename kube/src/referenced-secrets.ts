import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { ReferencedSecret, ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import { API_VERSION } from '@wherry/core/resources/meta.ts';
import type { KubeClient } from './client/kube-client.ts';
import type { KubeObject } from './client/kube-object.ts';
import { createObjectCache } from './object-cache.ts';
import { MANAGED_BY, MANAGED_BY_LABEL } from './workloads/names.ts';

interface Secret extends KubeObject {
  type?: string;
  /** Base64. */
  data?: Record<string, string>;
}

/** What a cache keeps of a Secret. */
interface KeptSecret extends KubeObject {
  content: ReferencedSecret;
}

const [GROUP = ''] = API_VERSION.split('/');

/**
 * Types whose data are for applications. Secrets of other types belong to their controllers: tokens of service
 * accounts, credentials of registries, releases of Helm, bootstrap tokens. So a new type is refused until it is known.
 */
const TYPES_FOR_APPLICATIONS = /^(?:Opaque|kubernetes\.io\/(?:basic-auth|ssh-auth|tls)|servicebinding\.io\/.*)$/;

interface ReferencedSecretsOptions {
  client: KubeClient;
  /** Of the objects that refer to them. */
  namespace: string;
  clock: Clock;
  logger: Logger;
}

export interface WatchedSecrets extends ReferencedSecrets {
  /** Resolves when the cache is full. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * The Secrets of a namespace, from a cache that is kept current. Start it before its readers: until it is filled, every
 * Secret seems to be missing.
 */
export function createReferencedSecrets({
  client,
  namespace,
  clock,
  logger,
}: ReferencedSecretsOptions): WatchedSecrets {
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const cache = createObjectCache<KeptSecret>({ client, path, clock, logger, keep: keepContent });
  return {
    start: () => cache.start(),
    stop: () => cache.stop(),
    get: (name) => cache.get(name)?.content,
    onChange: (callback) => cache.onChange((name) => callback(name)),
  };
}

/** Without managed fields and annotations: `kubectl apply` keeps a second copy of the data there. */
function keepContent(secret: Secret): KeptSecret {
  const { name, uid, resourceVersion } = secret.metadata;
  const refused = refusal(secret);
  return {
    metadata: { name, uid, resourceVersion },
    content: refused === undefined ? { data: decoded(secret) } : { refused },
  };
}

/** Why no field may refer to the Secret (K6). */
function refusal({ metadata, type = 'Opaque' }: Secret): string | undefined {
  if (isManagedByWherry(metadata)) return 'which Wherry manages for itself';
  if (TYPES_FOR_APPLICATIONS.test(type)) return undefined;
  return `whose type is ${type}, which is not meant for applications (Opaque is)`;
}

/** By its label, or by its owner where the label was removed. */
function isManagedByWherry({ labels, ownerReferences }: KubeObject['metadata']): boolean {
  if (labels?.[MANAGED_BY_LABEL] === MANAGED_BY) return true;
  return (
    ownerReferences?.some(({ apiVersion, controller }) => controller === true && apiVersion.startsWith(`${GROUP}/`)) ===
    true
  );
}

function decoded({ data = {} }: Secret): ReadonlyMap<string, string> {
  return new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]));
}
