import type { ClusterWorkloads } from '@wherry/core/ports/cluster-workloads.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { ObjectWrites } from '@wherry/core/ports/object-writes.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { FollowedObject, SystemObjects } from '@wherry/core/ports/system-objects.ts';
import { connectKube, type KubeClient } from './client/kube-client.ts';
import { Refusals } from './client/refusals.ts';
import { EventRecorder } from './event-recorder.ts';
import { LeaderElection } from './lease/leader-election.ts';
import { createReferencedSecrets, type WatchedSecrets } from './referenced-secrets.ts';
import { KubeStore } from './store/kube-store.ts';
import { createObjectWrites } from './store/object-writes.ts';
import { createSystemConfigMaps, createSystemSecrets, followSystemSecret } from './system-objects.ts';
import { createDeploymentWorkloads, type DeploymentWorkloadsOptions } from './workloads/deployment-workloads.ts';

interface ClusterOptions {
  /** A kubeconfig's path. Absent: the service account of the pod. */
  kubeconfig: string | undefined;
  /** Of the functions. */
  namespace: string;
  clock: Clock;
  logger: Logger;
}

/** A cluster behind one client, as the ports of core. Unused parts send nothing. */
export class Cluster {
  readonly #refusals = new Refusals();
  readonly #client: KubeClient;
  readonly #options: ClusterOptions;

  constructor(client: KubeClient, options: ClusterOptions) {
    this.#client = this.#refusals.follow(client);
    this.#options = options;
  }

  /** What may not be listed or watched, in a sentence for people; undefined where nothing is refused. */
  refusal(): string | undefined {
    return this.#refusals.current();
  }

  /** Wherry's own objects. */
  store(): ResourceStore {
    return new KubeStore({ ...this.#options, client: this.#client });
  }

  /** Who writes those objects. */
  objectWrites(): ObjectWrites {
    return createObjectWrites({ ...this.#options, client: this.#client });
  }

  referencedSecrets(): WatchedSecrets {
    return createReferencedSecrets({ ...this.#options, client: this.#client });
  }

  systemSecrets(namespace: string): SystemObjects {
    return createSystemSecrets({ client: this.#client, namespace });
  }

  followSystemSecret(namespace: string, name: string): FollowedObject {
    const { clock, logger } = this.#options;
    return followSystemSecret({ client: this.#client, namespace, name, clock, logger });
  }

  configMaps(): SystemObjects<string> {
    return createSystemConfigMaps({ ...this.#options, client: this.#client });
  }

  /** @param component who records, as `kubectl describe` shows it. */
  events(component: string): EventRecorder {
    return new EventRecorder({ ...this.#options, client: this.#client, component });
  }

  /** @param namespace of the Lease, @param name its name, @param identity who this replica is, for people. */
  election(lease: { namespace: string; name: string; identity: string; metrics: Metrics }): LeaderElection {
    const { clock, logger } = this.#options;
    return new LeaderElection({ ...lease, client: this.#client, clock, logger });
  }

  workloads(options: Omit<DeploymentWorkloadsOptions, 'client' | 'clock' | 'logger'>): ClusterWorkloads {
    const { clock, logger } = this.#options;
    return createDeploymentWorkloads({ ...options, client: this.#client, clock, logger });
  }

  /** Ends the connections to the API server. */
  close(): Promise<void> {
    return this.#client.close();
  }
}

/** It sends nothing yet. @throws DomainError where the credentials cannot be read. */
export async function connectCluster(options: ClusterOptions): Promise<Cluster> {
  const { kubeconfig, clock } = options;
  return new Cluster(await connectKube({ kubeconfig, clock }), options);
}
