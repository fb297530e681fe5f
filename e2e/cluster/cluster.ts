import { CommandFailed, runProgram, type CommandOptions, type CommandResult, type Start } from './command.ts';
import { readState, type ClusterState, type ClusterUrls, type ClusterWay } from './cluster-state.ts';
import { followService } from './machine/follow-service.ts';
import { forward, type Forward } from './machine/forward.ts';
import type { Address, Machine } from './machine/machine.ts';
import { machineOfState } from './machine/machine-of-state.ts';
import { portForward } from './machine/port-forward.ts';
import { takeDown } from './take-down.ts';

/** A real Kubernetes, as a test or a person uses it. */
export interface Cluster {
  name: string;
  way: ClusterWay;
  /** Of a file that holds where the programs of `run` run. */
  kubeconfig: string;
  /** The address at which NodePorts answer, for `connect` and `forward`. */
  node: string;
  /** The address at which pods reach what `publish` makes. */
  gateway: string;
  /** Starts a program beside the Docker daemon: kubectl, helm, kind and docker know the cluster there. */
  start: Start;
  /** Runs one to its end, however that is. */
  run(command: string, args: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  /** What kubectl printed. @throws CommandFailed when it did not succeed */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** What helm printed. @throws CommandFailed when it did not succeed */
  helm(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** `kubectl apply` of a manifest. @throws CommandFailed when it did not succeed */
  apply(manifest: string): Promise<string>;
  /** A connection from beside the Docker daemon, where nodes, pods and Services have addresses. */
  connect: Machine['connect'];
  /** A port of loopback for this process and others, which leads to an address in the cluster. */
  forward(address: Address): Promise<Forward>;
  /** The same for a Service's port: each connection goes wherever the Service leads it then. */
  forwardService(service: { namespace: string; name: string; port: number }): Promise<Forward>;
  /** Where Wherry is reached from this machine. @throws Error when it is not installed */
  urls(): ClusterUrls;
  /** Makes a listener of this process's machine reachable for pods: its URL there, and what ends it. */
  publish(ours: Address, port?: number): Promise<{ url: string; close: () => Promise<void> }>;
  /** Ends it, and removes every trace. One that KUBECONFIG named stays. */
  down(): Promise<void>;
}

/** The cluster of a stored state. */
export function openCluster(state: ClusterState): Cluster {
  const { name, way, kubeconfig, node, gateway } = state;
  const machine = machineOfState(state);
  const run: Cluster['run'] = (command, args, options) =>
    runProgram(command, args, { ...options, start: machine.start });
  const must = async (command: string, args: readonly string[], options?: CommandOptions): Promise<string> => {
    const result = await run(command, args, options);
    if (result.code !== 0) throw new CommandFailed(command, args, result);
    return result.stdout;
  };
  const kubectl: Cluster['kubectl'] = (args, options) => must('kubectl', args, options);
  return {
    name,
    way,
    kubeconfig,
    node,
    gateway,
    start: machine.start,
    run,
    kubectl,
    helm: (args, options) => must('helm', args, options),
    apply: (manifest) => kubectl(['apply', '-f', '-'], { input: manifest }),
    connect: machine.connect,
    forward: (address) => forward(() => machine.connect(address)),
    async forwardService(service) {
      // Only in namespaces of our own do routes lead to the addresses of Services.
      if (way !== 'namespaces') return portForward(machine.start, service);
      const lookUp = (): Promise<string> =>
        kubectl(['get', 'service', '-n', service.namespace, service.name, '-o', 'jsonpath={.spec.clusterIP}']);
      return forward(followService(machine.connect, lookUp, service.port, await lookUp()));
    },
    async publish(ours, port = 0) {
      const { address, close } = await machine.publish({ host: gateway, port }, ours);
      return { url: `http://${address.host}:${address.port}`, close };
    },
    urls() {
      const urls = readState(name)?.forwarder?.urls;
      if (urls === undefined)
        throw new Error(
          `Wherry is not installed in the cluster "${name}": run \`npm run cluster -- --name ${name} up\`.`,
        );
      return urls;
    },
    down: () => takeDown(name),
  };
}
