import type { ClusterWorkloads } from '@wherry/core/ports/cluster-workloads.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { SystemObjects } from '@wherry/core/ports/system-objects.ts';
import { connectKube, type KubeClient } from './client/kube-client.ts';
import { EventRecorder } from './events/event-recorder.ts';
import { LeaderElection } from './lease/leader-election.ts';
import { createReferencedSecrets, type WatchedSecrets } from './secrets/referenced-secrets.ts';
import { KubeStore } from './store/kube-store.ts';
import { createSystemConfigMaps, createSystemSecrets } from './system-objects/system-objects.ts';
import { createDeploymentWorkloads, type DeploymentWorkloadsOptions } from './workloads/deployment-workloads.ts';

interface ClusterOptions {
  /** A kubeconfig's path. Absent: the service account of the pod. */
  kubeconfig: string | undefined;
  /** Of the functions. */
  namespace: string;
  clock: Clock;
  logger: Logger;
}

/** A cluster behind one client, as the ports of core. What a program does not use of it sends nothing. */
export class Cluster {
  readonly #client: KubeClient;
  readonly #options: ClusterOptions;

  constructor(client: KubeClient, options: ClusterOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Wherry's own objects. */
  store(): ResourceStore {
    return new KubeStore({ ...this.#options, client: this.#client });
  }

  referencedSecrets(): WatchedSecrets {
    return createReferencedSecrets({ ...this.#options, client: this.#client });
  }

  systemSecrets(namespace: string): SystemObjects {
    return createSystemSecrets({ client: this.#client, namespace });
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

/** Sends nothing yet. @throws DomainError where the credentials cannot be read. */
export async function connectCluster(options: ClusterOptions): Promise<Cluster> {
  const { kubeconfig, clock } = options;
  return new Cluster(await connectKube({ kubeconfig, clock }), options);
}
