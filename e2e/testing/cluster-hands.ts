import type { Cluster } from '../cluster/cluster.ts';
import { kindName, SYSTEM_NAMESPACE } from '../cluster/names.ts';
import { eventually } from './api-client.ts';

/** What a test does to a cluster that no caller could: programs are stopped, hang, are killed, or restart. */
export class ClusterHands {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /**
   * Starts all pods of one of Wherry's Deployments again, one after the other.
   * @returns how long it took, in milliseconds
   */
  async restart(deployment: string): Promise<number> {
    const began = Date.now();
    await this.#cluster.kubectl(['rollout', 'restart', '-n', SYSTEM_NAMESPACE, `deployment/${deployment}`]);
    await this.rolledOut(deployment);
    return Date.now() - began;
  }

  /** Waits until a Deployment is complete, and every pod that it had before has ended. */
  async rolledOut(deployment: string, timeoutSeconds = 120): Promise<void> {
    await this.#cluster.kubectl([
      'rollout',
      'status',
      '-n',
      SYSTEM_NAMESPACE,
      `deployment/${deployment}`,
      `--timeout=${timeoutSeconds}s`,
    ]);
    const { replicas } = JSON.parse(
      await this.#cluster.kubectl(['get', '-n', SYSTEM_NAMESPACE, 'deployment', deployment, '-o', 'jsonpath={.spec}']),
    ) as { replicas: number };
    await this.podCount(deployment.replace(/^wherry-/, ''), replicas, timeoutSeconds * 1000);
  }

  /** Waits until it has this many pods, including terminating ones. */
  async scale(deployment: string, replicas: number): Promise<void> {
    await this.#cluster.kubectl([
      'scale',
      '-n',
      SYSTEM_NAMESPACE,
      `deployment/${deployment}`,
      `--replicas=${replicas}`,
    ]);
    await this.rolledOut(deployment);
  }

  /** The same for several, most of which are complete. */
  async scaleAll(wanted: Record<string, number>): Promise<void> {
    const format = 'jsonpath={range .items[*]}{.metadata.name} {.spec.replicas} {.status.readyReplicas}{"\\n"}{end}';
    const lines = (await this.#cluster.kubectl(['get', 'deployments', '-n', SYSTEM_NAMESPACE, '-o', format])).split(
      '\n',
    );
    for (const [name, replicas] of Object.entries(wanted)) {
      if (!lines.includes(`${name} ${replicas} ${replicas}`)) await this.scale(name, replicas);
    }
  }

  /** Waits until there are this many pods of a program, including terminating ones. */
  async podCount(program: string, replicas: number, limitMs = 120_000): Promise<void> {
    const selector = `--selector=app.kubernetes.io/component=${program}`;
    await eventually(async () => {
      const names = await this.#cluster.kubectl(['get', 'pods', '-n', SYSTEM_NAMESPACE, selector, '-o', 'name']);
      const count = names.split('\n').filter(Boolean).length;
      if (count !== replicas) throw new Error(`the ${program} has ${count} pods, not ${replicas}`);
      await pause(200);
    }, limitMs);
  }

  /** The uid of a pod, and how often its containers were started again. */
  async pod(namespace: string, name: string): Promise<{ uid: string; restarts: number }> {
    const format = 'jsonpath={.metadata.uid} {.status.containerStatuses[0].restartCount}';
    const [uid = '', restarts] = (
      await this.#cluster.kubectl(['get', 'pod', '-n', namespace, name, '-o', format])
    ).split(' ');
    return { uid, restarts: Number(restarts) };
  }

  /** Kills a container's process with SIGKILL, as the kernel does where memory runs out. */
  async killProcess(namespace: string, pod: string, container: string): Promise<void> {
    const format = `jsonpath={.status.containerStatuses[?(@.name=="${container}")].containerID}`;
    const id = await this.#cluster.kubectl(['get', 'pod', '-n', namespace, pod, '-o', format]);
    await this.onNode(`ctr --namespace k8s.io tasks kill --signal SIGKILL ${id.replace('containerd://', '')}`);
  }

  /** Suspends the API server: connections open, and nothing answers. @returns a function that resumes it */
  async freezeApiServer(): Promise<() => Promise<void>> {
    await this.onNode('pkill -STOP -x kube-apiserver');
    return () => this.onNode('pkill -CONT -x kube-apiserver').then(() => undefined);
  }

  /** Runs a shell script on the node. @throws Error with what it said when it fails */
  async onNode(script: string): Promise<string> {
    const node = `${kindName(this.#cluster.name)}-control-plane`;
    const { code, stdout, stderr } = await this.#cluster.run('docker', ['exec', node, 'sh', '-ec', script], {
      timeoutMs: 30_000,
    });
    if (code !== 0) throw new Error(`On the node: ${stderr || stdout}`);
    return stdout;
  }
}

/** The pause between two checks of a cluster: each costs a process. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
