import type { Cluster } from '../cluster/cluster.ts';
import type { Forward } from '../cluster/machine/forward.ts';
import { eventually, send } from './api-client.ts';

const NAMESPACE = 'default';
const NAME = 'plain-server';
const PORT = 8000;
const ANSWER_MS = 2000;
/** Answers as the function of the suite does: its word, and how many bytes arrived. */
const PROGRAM = `require('node:http').createServer(async (call, answer) => {
  let bytes = 0;
  for await (const chunk of call) bytes += chunk.length;
  answer.end(process.env.WORD + ' ' + process.env.WORD + ' ' + bytes);
}).listen(${PORT})`;

/** The properties of its container, so that the node treats both alike. */
interface Likeness {
  image: string;
  resources: object;
}

/**
 * A Deployment and a Service of `node:http` with nothing of Wherry: what the cluster itself does to a server, at the
 * same time and on the same machine.
 */
export class PlainServer {
  readonly #cluster: Cluster;
  readonly #likeness: Likeness;
  #forward: Forward | undefined;

  constructor(cluster: Cluster, likeness: Likeness) {
    this.#cluster = cluster;
    this.#likeness = likeness;
  }

  /** @returns its URL, once it answers */
  async start(word: string): Promise<string> {
    await this.change(word);
    await this.#cluster.kubectl(['rollout', 'status', '-n', NAMESPACE, `deployment/${NAME}`, '--timeout=120s']);
    const { url } = (this.#forward = await this.#cluster.forwardService({
      namespace: NAMESPACE,
      name: NAME,
      port: PORT,
    }));
    // A pod is ready before kube-proxy leads to it.
    await eventually(async () => {
      const { text } = await send(url, { signal: AbortSignal.timeout(ANSWER_MS) });
      if (text !== `${word} ${word} 0`) throw new Error(`the plain server answers ${text}`);
    });
    return url;
  }

  /** Another word means another pod, as an edit of a function does. */
  async change(word: string): Promise<void> {
    const { image, resources } = this.#likeness;
    const readinessProbe = { tcpSocket: { port: PORT }, periodSeconds: 1 };
    const container = {
      name: 'plain',
      image,
      resources,
      readinessProbe,
      command: ['node', '-e', PROGRAM],
      env: [{ name: 'WORD', value: word }],
    };
    const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    const template = {
      metadata: { labels: { app: NAME } },
      spec: { terminationGracePeriodSeconds: 1, containers: [container] },
    };
    const metadata = { name: NAME, namespace: NAMESPACE };
    const items = [
      { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { app: NAME }, ports: [{ port: PORT }] } },
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata,
        spec: { selector: { matchLabels: { app: NAME } }, strategy, template },
      },
    ];
    await this.#cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  }

  async dispose(): Promise<void> {
    await this.#forward?.close();
    await this.#cluster.kubectl([
      'delete',
      'deployment,service',
      '-n',
      NAMESPACE,
      NAME,
      '--ignore-not-found',
      '--wait=false',
    ]);
  }
}
