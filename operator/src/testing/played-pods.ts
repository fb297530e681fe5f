import { isDomainError } from '@wherry/core/errors.ts';
import { systemClock } from '@wherry/service/clock.ts';
import type { ClusterWorld, KubeItem } from './cluster-world.ts';

const LOOK_MS = 100;
const SERVICE_ACCOUNT = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'wherry-function' } };

/**
 * Plays the controllers and kubelets that a bare API server lacks: a Deployment soon has one pod, which is ready and is
 * in an EndpointSlice; the pod of a Deployment that is gone goes.
 */
export class PlayedPods {
  readonly #world: ClusterWorld;
  readonly #made = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  constructor(world: ClusterWorld) {
    this.#world = world;
    this.#ended = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    await this.#create('/api/v1', 'serviceaccounts', SERVICE_ACCOUNT);
    while (!this.#stopping.signal.aborted) {
      const deployments = await this.#world.deployments();
      for (const deployment of deployments)
        if (!this.#made.has(deployment.metadata.name)) await this.#begin(deployment);
      const present = new Set(deployments.map(({ metadata }) => metadata.name));
      for (const name of this.#made) if (!present.has(name)) await this.#end(name);
      await systemClock.sleep(LOOK_MS, this.#stopping.signal).catch(() => undefined);
    }
  }

  async #begin({ metadata: { name, labels }, spec }: KubeItem): Promise<void> {
    const { template } = spec as { template: { metadata: object; spec: object } };
    this.#made.add(name);
    const pod = await this.#create('/api/v1', 'pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...template.metadata, name },
      spec: template.spec,
    });
    const container = { name: 'function', image: 'i', imageID: 'i', ready: true, restartCount: 0 };
    const status = {
      phase: 'Running',
      podIP: '10.9.9.9',
      podIPs: [{ ip: '10.9.9.9' }],
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [container],
    };
    const path = `/api/v1/namespaces/${this.#world.namespace}/pods/${name}/status`;
    await this.#world.api.request({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: { status },
    });
    const endpoint = {
      addresses: ['10.9.9.9'],
      conditions: { ready: true },
      targetRef: { kind: 'Pod', name, uid: pod.metadata.uid },
    };
    await this.#create('/apis/discovery.k8s.io/v1', 'endpointslices', {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: 'IPv4',
      endpoints: [endpoint],
      metadata: { name, labels: { ...labels, 'kubernetes.io/service-name': name, 'wherry.dev/workload': name } },
    });
  }

  async #end(name: string): Promise<void> {
    this.#made.delete(name);
    await this.#delete(`/apis/discovery.k8s.io/v1/namespaces/${this.#world.namespace}/endpointslices/${name}`);
    await this.#delete(`/api/v1/namespaces/${this.#world.namespace}/pods/${name}`);
  }

  #create(group: string, resource: string, body: object): Promise<KubeItem> {
    return this.#world.api.request({
      method: 'POST',
      path: `${group}/namespaces/${this.#world.namespace}/${resource}`,
      body,
    });
  }

  async #delete(path: string): Promise<void> {
    try {
      await this.#world.api.request({ method: 'DELETE', path, body: { gracePeriodSeconds: 0 } });
    } catch (error) {
      if (!isDomainError(error, 'not_found')) throw error;
    }
  }
}
