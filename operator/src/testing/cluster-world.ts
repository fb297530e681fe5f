import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDomainError } from '@wherry/core/errors.ts';
import { eventually } from '@wherry/testing/eventually.ts';
import { Program } from './program.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const START_MS = 30_000;
const SYSTEM = 'wherry-system';

/** As much of `@wherry/kube`'s client as these tests need. */
interface Api {
  request<T>(request: {
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
    path: string;
    body?: object;
    contentType?: string;
  }): Promise<T>;
}

export interface KubeItem {
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: object[];
  };
  status?: {
    conditions?: { type: string; status: string; reason: string; message: string }[];
    [field: string]: unknown;
  };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
}

type Applied = 'Function' | 'CodeSource' | 'KeyGroup' | 'FunctionSecret';

/**
 * Programs of ours around a real API server: operators, the builder beside them, a manager. They end with the world.
 */
export class ClusterWorld {
  readonly api: Api;
  readonly namespace: string;
  readonly #folder: string;
  readonly #programs: Program[] = [];
  #operators = 0;
  #manager: { url: string; internal: number; key: string } | undefined;

  private constructor(api: Api, namespace: string, folder: string) {
    this.api = api;
    this.namespace = namespace;
    this.#folder = folder;
  }

  /** Each has namespaces of its own: `<name>` and `<name>-system`. */
  static async create(api: Api, name: string): Promise<ClusterWorld> {
    for (const namespace of [name, `${name}-system`]) {
      await api.request({
        method: 'POST',
        path: '/api/v1/namespaces',
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      });
    }
    const folder = await mkdtemp(path.join(tmpdir(), 'wherry-operator-'));
    return new ClusterWorld(api, name, folder);
  }

  get systemNamespace(): string {
    return `${this.namespace}-${SYSTEM.slice('wherry-'.length)}`;
  }

  /** An operator, not waited for. */
  launch(kubeconfig: string): Program {
    this.#operators += 1;
    const instance = `operator-${this.#operators}`;
    const operator = new Program(path.join(ROOT, 'operator/src/main.ts'), {
      KUBECONFIG: kubeconfig,
      WHERRY_NAMESPACE: this.namespace,
      WHERRY_SYSTEM_NAMESPACE: this.systemNamespace,
      WHERRY_FUNCTION_URL: 'http://functions.example',
      WHERRY_RUNTIME_IMAGE: 'wherry/runtime:0.1.0',
      WHERRY_FEED_PORT: '0',
      WHERRY_FEED_HOST: '127.0.0.1',
      WHERRY_FEED_ADDRESS: '127.0.0.1:9443',
      // The first one makes the certificate with which a manager can be started.
      WHERRY_MANAGER_INTERNAL_URL: `https://127.0.0.1:${this.#manager?.internal ?? 1}`,
      WHERRY_BUILDER_SOCKET: path.join(this.#folder, 'builder.sock'),
      WHERRY_CACHE_DIR: path.join(this.#folder, instance),
      OPS_PORT: '0',
      OPS_HOST: '127.0.0.1',
      WHERRY_INSTANCE: instance,
      WHERRY_LOG_LEVEL: 'info',
    });
    this.#programs.push(operator);
    return operator;
  }

  /** An operator that serves the feed. */
  async startOperator(kubeconfig: string): Promise<Program> {
    const operator = this.launch(kubeconfig);
    await this.#until(operator, 'feedPort');
    return operator;
  }

  async startBuilder(): Promise<void> {
    const builder = new Program(path.join(ROOT, 'builder/src/main.ts'), {
      WHERRY_BUILDER_SOCKET: path.join(this.#folder, 'builder.sock'),
      WHERRY_CACHE_DIR: path.join(this.#folder, 'builder'),
      OPS_PORT: '0',
    });
    this.#programs.push(builder);
    await this.#until(builder, 'socket');
  }

  /** A manager with the keys and certificates that an operator has made. Operators that are started later find it. */
  async startManager(kubeconfig: string): Promise<Program> {
    const folder = path.join(this.#folder, 'manager');
    await this.#mount('wherry-manager-tls', path.join(folder, 'tls'), {
      'tls.crt': 'tls.crt',
      'tls.key': 'tls.key',
      'ca.crt': 'ca.crt',
    });
    await this.#mount('wherry-management-key', path.join(folder, 'management'), { key: 'key' });
    const manager = new Program(path.join(ROOT, 'manager/src/main.ts'), {
      KUBECONFIG: kubeconfig,
      WHERRY_NAMESPACE: this.namespace,
      WHERRY_SYSTEM_NAMESPACE: this.systemNamespace,
      WHERRY_FUNCTION_URL: 'http://functions.example',
      MANAGEMENT_PORT: '0',
      MANAGEMENT_HOST: '127.0.0.1',
      WHERRY_INTERNAL_PORT: String(this.#manager?.internal ?? 0),
      OPS_PORT: '0',
      WHERRY_DATA_DIR: path.join(folder, 'data'),
      WHERRY_TLS_DIRECTORY: path.join(folder, 'tls'),
      WHERRY_MANAGEMENT_KEY_FILE: path.join(folder, 'management/key'),
    });
    this.#programs.push(manager);
    await this.#until(manager, 'internal');
    const key = Buffer.from((await this.secret('wherry-management-key')).data?.['key'] ?? '', 'base64').toString(
      'utf8',
    );
    this.#manager = {
      url: `http://127.0.0.1:${String(manager.reported('management'))}`,
      internal: Number(manager.reported('internal')),
      key,
    };
    return manager;
  }

  /**
   * A router on that feed, with the certificate that an operator has made.
   * @returns it, once it takes calls, and its URL.
   */
  async startRouter(feedPort: number): Promise<{ router: Program; url: string }> {
    const folder = path.join(this.#folder, 'router');
    await this.#mount('wherry-router-tls', folder, { 'tls.crt': 'tls.crt', 'tls.key': 'tls.key', 'ca.crt': 'ca.crt' });
    const router = new Program(path.join(ROOT, 'router/src/main.ts'), {
      FUNCTION_PORT: '0',
      FUNCTION_HOST: '127.0.0.1',
      OPS_PORT: '0',
      OPS_HOST: '127.0.0.1',
      WHERRY_FEED_ADDRESS: `127.0.0.1:${feedPort}`,
      WHERRY_TLS_DIRECTORY: folder,
      WHERRY_INSTANCE: 'router-1',
      WHERRY_LOG_LEVEL: 'info',
    });
    this.#programs.push(router);
    await this.#until(router, 'port');
    return { router, url: `http://127.0.0.1:${String(router.reported('port'))}` };
  }

  /** Makes the source hold this file, over the management API. */
  async upload(source: string, file: string, content: string): Promise<void> {
    const exists = await this.#rest('GET', `/api/sources/${source}`);
    if (exists === 404) await this.#rest('POST', '/api/sources', { name: source, type: 'manual' }, 201);
    await this.#rest('PUT', `/api/sources/${source}/files/${file}`, { content }, 200, 201);
  }

  async apply(kind: Applied, name: string, spec: object, annotations: Record<string, string> = {}): Promise<void> {
    const metadata = { name, namespace: this.namespace, annotations };
    const body = { apiVersion: 'wherry.dev/v1alpha1', kind, metadata, spec };
    await this.api.request({ method: 'POST', path: this.objects(`${kind.toLowerCase()}s`), body });
  }

  get(kind: Applied, name: string): Promise<KubeItem> {
    return this.api.request({ method: 'GET', path: this.objects(`${kind.toLowerCase()}s`, name) });
  }

  /** Path of Wherry's objects. */
  objects(plural: string, name?: string): string {
    return `/apis/wherry.dev/v1alpha1/namespaces/${this.namespace}/${plural}${name === undefined ? '' : `/${name}`}`;
  }

  fn(name: string): Promise<KubeItem> {
    return this.get('Function', name);
  }

  async list(group: string, resource: string): Promise<KubeItem[]> {
    return (
      await this.api.request<{ items: KubeItem[] }>({
        method: 'GET',
        path: `${group}/namespaces/${this.namespace}/${resource}`,
      })
    ).items;
  }

  deployments(): Promise<KubeItem[]> {
    return this.list('/apis/apps/v1', 'deployments');
  }

  /** A pod of the Deployment at that address, as controllers and a kubelet would have it; `DELETE` it at `path`. */
  async startPod({ metadata: { name }, spec }: KubeItem, ip: string): Promise<{ name: string; path: string }> {
    const { template } = spec as { template: { metadata: object; spec: object } };
    const pods = `/api/v1/namespaces/${this.namespace}/pods`;
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name }, spec: template.spec };
    await this.api.request({ method: 'POST', path: pods, body });
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }] };
    await this.api.request({
      method: 'PATCH',
      path: `${pods}/${name}/status`,
      contentType: 'application/merge-patch+json',
      body: { status },
    });
    return { name, path: `${pods}/${name}` };
  }

  /** An entry of a Secret or a ConfigMap of the functions' namespace. */
  async entry(resource: 'secrets' | 'configmaps', name: string, key: string): Promise<string> {
    const { data = {} } = await this.api.request<KubeItem>({
      method: 'GET',
      path: `/api/v1/namespaces/${this.namespace}/${resource}/${name}`,
    });
    return resource === 'secrets' ? Buffer.from(data[key] ?? '', 'base64').toString('utf8') : (data[key] ?? '');
  }

  secret(name: string): Promise<KubeItem> {
    return this.api.request({ method: 'GET', path: `/api/v1/namespaces/${this.systemNamespace}/secrets/${name}` });
  }

  /** Ends every program. */
  async stop(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.stop()));
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #until(program: Program, field: string): Promise<void> {
    await eventually(() => {
      if (program.reported(field) !== undefined) return;
      throw new Error(`a program did not start: ${program.lines.slice(-5).join('\n')}`);
    }, START_MS);
  }

  async #mount(secret: string, folder: string, files: Record<string, string>): Promise<void> {
    const { data = {} } = await this.secret(secret);
    await mkdir(folder, { recursive: true });
    for (const [entry, file] of Object.entries(files))
      await writeFile(path.join(folder, file), Buffer.from(data[entry] ?? '', 'base64'), { mode: 0o600 });
  }

  async #rest(method: string, target: string, body?: object, ...expected: number[]): Promise<number> {
    const { url = '', key = '' } = this.#manager ?? {};
    const response = await fetch(url + target, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (expected.length > 0 && !expected.includes(response.status))
      throw new Error(`${method} ${target}: ${response.status} ${text}`);
    return response.status;
  }
}

/** `<status> <reason>: <message>` of a condition. */
export function conditionText(item: KubeItem, type: string): string {
  const condition = item.status?.conditions?.find((one) => one.type === type);
  return condition === undefined ? 'none' : `${condition.status} ${condition.reason}: ${condition.message}`;
}

/** The refusal of a request. */
export async function refusalOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return 'taken';
  } catch (error) {
    return isDomainError(error)
      ? `${error.code}: ${error.message} ${JSON.stringify(error.details ?? [])}`
      : String(error);
  }
}
