import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { KubeObject } from '../client/kube-object.ts';
import { createObjectCache, type ObjectCache } from '../object-cache.ts';
import type { EndpointSlice } from './endpoints.ts';
import { keepMountFailure, MOUNT_FAILURE_SELECTOR, type MountFailure } from './mount-failures.ts';
import { FUNCTION_POD_NAME, NAME_LABEL } from './names.ts';
import { OwnedObjects } from './owned-objects.ts';
import { keepPod, type Pod } from './pod.ts';
import type { Deployment } from './waiting-reason.ts';

/** The kinds that a workload is made of, each with how it is written. */
export interface OwnedKinds {
  secret: OwnedObjects<KubeObject>;
  service: OwnedObjects<KubeObject>;
  disruptionBudget: OwnedObjects<KubeObject>;
  deployment: OwnedObjects<Deployment>;
}

/** Everything of the functions' namespace that workloads are made of and observed by. */
export interface WorkloadCaches {
  owned: OwnedKinds;
  pods: ObjectCache<Pod>;
  slices: ObjectCache<EndpointSlice>;
  deployments: ObjectCache<Deployment>;
  mountFailures: ObjectCache<MountFailure>;
  /** Calls back with the name of an object of an owned kind that changed. */
  onOwnedChange(callback: (name: string) => void): void;
  /** Resolves when every cache holds its first list. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function createWorkloadCaches({
  client,
  namespace,
  clock,
  logger,
}: {
  client: KubeClient;
  namespace: string;
  clock: Clock;
  logger: Logger;
}): WorkloadCaches {
  const pathOf = (group: string, resource: string): string => `${group}/namespaces/${namespace}/${resource}`;
  const all: Pick<ObjectCache<KubeObject>, 'start' | 'stop'>[] = [];
  const ownedCaches: Pick<ObjectCache<KubeObject>, 'onChange'>[] = [];
  const cacheOf = <T extends KubeObject>(
    path: string,
    more: Pick<Parameters<typeof createObjectCache<T>>[0], 'labelSelector' | 'fieldSelector' | 'keep'> = {},
  ): ObjectCache<T> => {
    const cache = createObjectCache<T>({ client, path, clock, logger, ...more });
    all.push(cache);
    return cache;
  };
  // Without a selector: a foreign object with the same name must be noticed too.
  const own = <T extends KubeObject>(path: string): { cache: ObjectCache<T>; owned: OwnedObjects<T> } => {
    const cache = cacheOf<T>(path);
    ownedCaches.push(cache);
    return { cache, owned: new OwnedObjects<T>({ client, cache, path }) };
  };
  const deployments = own<Deployment>(pathOf('/apis/apps/v1', 'deployments'));

  return {
    owned: {
      secret: own(pathOf('/api/v1', 'secrets')).owned,
      service: own(pathOf('/api/v1', 'services')).owned,
      disruptionBudget: own(pathOf('/apis/policy/v1', 'poddisruptionbudgets')).owned,
      deployment: deployments.owned,
    },
    pods: cacheOf<Pod>(pathOf('/api/v1', 'pods'), {
      labelSelector: `${NAME_LABEL}=${FUNCTION_POD_NAME}`,
      keep: keepPod,
    }),
    slices: cacheOf<EndpointSlice>(pathOf('/apis/discovery.k8s.io/v1', 'endpointslices')),
    deployments: deployments.cache,
    mountFailures: cacheOf<MountFailure>(pathOf('/api/v1', 'events'), {
      fieldSelector: MOUNT_FAILURE_SELECTOR,
      keep: keepMountFailure,
    }),
    onOwnedChange: (callback) => ownedCaches.forEach((cache) => cache.onChange((name) => callback(name))),
    async start() {
      await Promise.all(all.map((cache) => cache.start()));
    },
    async stop() {
      await Promise.all(all.map((cache) => cache.stop()));
    },
  };
}
