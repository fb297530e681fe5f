import type { Cluster } from '../cluster/cluster.ts';
import type { CommandResult } from '../cluster/command.ts';
import { machineTime } from '../tooling/machine-time.ts';

/** Where the chart puts the six kinds and all that runs of them, unless specified otherwise. */
export const FUNCTIONS_NAMESPACE = 'wherry-functions';

const IN = `--namespace=${FUNCTIONS_NAMESPACE}`;

/** An object of one of the six kinds, as kubectl prints it. */
interface FunctionObject {
  metadata: { name: string; uid: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: any;
  status?: any;
}

/** Objects of the six kinds through kubectl, as used by people who do not know the REST API. */
export class FunctionObjects {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** What kubectl printed, of the namespace of functions. @throws CommandFailed */
  kubectl(...args: string[]): Promise<string> {
    return this.#cluster.kubectl([...args, IN]);
  }

  /** `kubectl apply` of one of the six kinds, with further flags. @throws CommandFailed */
  async apply(kind: string, name: string, spec: object, ...flags: string[]): Promise<void> {
    await this.#cluster.kubectl(['apply', IN, ...flags, '-f', '-'], { input: manifest(kind, name, spec) });
  }

  /** The same, for one that may be refused. Nothing is kept of it. */
  tryApply(kind: string, name: string, spec: object): Promise<CommandResult> {
    return this.#cluster.run('kubectl', ['apply', IN, '--dry-run=server', '-f', '-'], {
      input: manifest(kind, name, spec),
    });
  }

  /**
   * `kubectl apply` of a Secret, whose values fields refer to.
   * @returns when kubectl was done, by `machineTime()`
   */
  async secret(name: string, values: Record<string, string>): Promise<number> {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: values };
    await this.#cluster.kubectl(['apply', IN, '-f', '-'], { input: JSON.stringify(secret) });
    return machineTime();
  }

  /** @throws CommandFailed when there is none */
  async get(kind: string, name: string): Promise<FunctionObject> {
    return JSON.parse(await this.kubectl('get', kind, name, '-o', 'json')) as FunctionObject;
  }

  async exists(kind: string, name: string): Promise<boolean> {
    return (await this.kubectl('get', kind, name, '--ignore-not-found', '-o', 'name')) !== '';
  }

  /** A merge patch. */
  async patch(kind: string, name: string, patch: object): Promise<void> {
    await this.kubectl('patch', kind, name, '--type=merge', '-p', JSON.stringify(patch));
  }

  /** Waits until it is gone. A missing one is ignored. */
  async delete(kind: string, ...names: string[]): Promise<void> {
    await this.kubectl('delete', kind, ...names, '--ignore-not-found');
  }

  /**
   * `<kind>/<name>` of everything in the namespace that contains a function's name, except the function itself and
   * events.
   */
  async namedAfter(functionName: string): Promise<string[]> {
    const kinds =
      'deployments,replicasets,pods,services,endpointslices,networkpolicies,poddisruptionbudgets,secrets,configmaps';
    const names = await this.kubectl('get', kinds, '-o', 'name');
    return names.split('\n').filter((name) => name.split('/')[1]?.startsWith(functionName));
  }
}

function manifest(kind: string, name: string, spec: object): string {
  return JSON.stringify({ apiVersion: 'wherry.dev/v1alpha1', kind, metadata: { name }, spec });
}
