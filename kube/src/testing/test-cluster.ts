import { systemClock } from '@wherry/service/clock.ts';
import { connectKube, type KubeClient, type KubeRequest } from '../client/kube-client.ts';
import type { KubeObject } from '../client/kube-object.ts';
import type { ContainerStatus, Pod } from '../workloads/pod.ts';
import { WORKLOAD_LABEL } from '../workloads/names.ts';
import { startApiServer, type ApiServer } from './api-server.ts';

interface TemplateOwner extends KubeObject {
  spec: { template: { metadata: object; spec: object } };
}

/** What a kubelet says of a pod. */
interface PodReport {
  ip?: string;
  ready?: boolean;
  phase?: string;
  container?: Partial<ContainerStatus>;
  conditions?: { type: string; status: string; reason?: string; message?: string }[];
}

/** A real API server without controllers and kubelets: the test plays them. */
export class TestCluster {
  readonly client: KubeClient;
  /** Every write since the last `takeWrites`: `PATCH /apis/…`. */
  #writes: string[] = [];
  readonly #server: ApiServer;
  readonly #inner: KubeClient;
  #count = 0;

  private constructor(server: ApiServer, inner: KubeClient) {
    this.#server = server;
    this.#inner = inner;
    this.client = {
      request: (request) => this.#record(request),
      watch: (watch) => inner.watch(watch),
      close: () => inner.close(),
    };
  }

  static async start(): Promise<TestCluster> {
    const server = await startApiServer();
    const inner = await connectKube({ kubeconfig: server.kubeconfig, clock: systemClock });
    return new TestCluster(server, inner);
  }

  async stop(): Promise<void> {
    await this.#inner.close();
    await this.#server.stop();
  }

  /** A new namespace with the functions' ServiceAccount, which takes what Pod Security calls restricted alone. */
  async createNamespace(): Promise<string> {
    this.#count += 1;
    const name = `functions-${this.#count}`;
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await this.#inner.request({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } },
    });
    await this.create(`/api/v1/namespaces/${name}/serviceaccounts`, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'wherry-function' },
    });
    return name;
  }

  create<T extends KubeObject>(path: string, body: object): Promise<T> {
    return this.#inner.request<T>({ method: 'POST', path, body });
  }

  get<T = KubeObject>(path: string): Promise<T> {
    return this.#inner.request<T>({ method: 'GET', path });
  }

  /** As another client of the API does it. */
  edit(path: string, body: object, contentType = 'application/merge-patch+json'): Promise<unknown> {
    return this.#inner.request({ method: 'PATCH', path, query: { fieldManager: 'kubectl-edit' }, contentType, body });
  }

  delete(path: string): Promise<unknown> {
    return this.#inner.request({ method: 'DELETE', path });
  }

  takeWrites(): string[] {
    const writes = this.#writes;
    this.#writes = [];
    return writes;
  }

  /** A pod of the Deployment's template, as its controllers would make it. */
  async startPod(namespace: string, deployment: string): Promise<string> {
    const { spec } = await this.get<TemplateOwner>(`/apis/apps/v1/namespaces/${namespace}/deployments/${deployment}`);
    const metadata = { ...spec.template.metadata, generateName: `${deployment}-` };
    const pod = await this.create(`/api/v1/namespaces/${namespace}/pods`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: spec.template.spec,
    });
    return pod.metadata.name;
  }

  async report(
    namespace: string,
    pod: string,
    { ip, ready = false, phase = 'Running', container = {}, conditions = [] }: PodReport,
  ): Promise<void> {
    const ours = { name: 'function', image: 'i', imageID: 'i', ready, restartCount: 0, ...container };
    const status = {
      phase,
      ...(ip !== undefined && { podIP: ip, podIPs: [{ ip }] }),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }, ...conditions],
      containerStatuses: [ours],
    };
    await this.edit(`/api/v1/namespaces/${namespace}/pods/${pod}/status`, { status });
  }

  /** Says in an EndpointSlice which pods of the Service are ready. */
  async publish(namespace: string, service: string, pods: Record<string, boolean>): Promise<void> {
    const found = await Promise.all(
      Object.keys(pods).map((name) => this.get<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`)),
    );
    const endpoints = found.map(({ metadata, status }) => ({
      addresses: [status?.podIP ?? '10.9.9.9'],
      conditions: { ready: pods[metadata.name] },
      targetRef: { kind: 'Pod', name: metadata.name, uid: metadata.uid },
    }));
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: 'IPv4',
      endpoints,
      metadata: { name: `${service}-1`, labels: { 'kubernetes.io/service-name': service, [WORKLOAD_LABEL]: service } },
    };
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/${service}-1`;
    await this.#inner.request({
      method: 'PATCH',
      path,
      query: { fieldManager: 'controllers', force: true },
      contentType: 'application/apply-patch+yaml',
      body: slice,
    });
  }

  #record<T>(request: KubeRequest): Promise<T> {
    if (request.method !== 'GET') this.#writes.push(`${request.method} ${request.path}`);
    return this.#inner.request<T>(request);
  }
}
