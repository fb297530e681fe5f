import path from "node:path";
import { CommandFailed, runProgram, type CommandOptions, type CommandResult, type Start } from "./command.ts";
import { clusterFolder, type ClusterState, type ClusterWay } from "./cluster-state.ts";
import { DOCKER_HOST } from "./machine/docker-daemon.ts";
import { forward, type Forward } from "./machine/forward.ts";
import type { Address, Machine } from "./machine/machine.ts";
import { machineOf } from "./machine/namespaces.ts";
import { portForward } from "./machine/port-forward.ts";
import { thisMachine } from "./machine/this-machine.ts";

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
  connect: Machine["connect"];
  /** A port of loopback for this process and others, which leads to an address in the cluster. */
  forward(address: Address): Promise<Forward>;
  /** The same for a Service's port: each connection goes wherever the Service leads it then. */
  forwardService(service: { namespace: string; name: string; port: number }): Promise<Forward>;
  /** Makes a listener of this process's machine reachable for pods: its URL there, and what ends it. */
  publish(ours: Address, port?: number): Promise<{ url: string; close: () => Promise<void> }>;
}

/** The cluster of a state that was written down. */
export function openCluster(state: ClusterState): Cluster {
  const { name, way, kubeconfig, node, gateway } = state;
  const machine = machineOfState(state);
  const run: Cluster["run"] = (command, args, options) => runProgram(command, args, { ...options, start: machine.start });
  const must = async (command: string, args: readonly string[], options?: CommandOptions): Promise<string> => {
    const result = await run(command, args, options);
    if (result.code !== 0) throw new CommandFailed(command, args, result);
    return result.stdout;
  };
  const kubectl: Cluster["kubectl"] = (args, options) => must("kubectl", args, options);
  return {
    name,
    way,
    kubeconfig,
    node,
    gateway,
    start: machine.start,
    run,
    kubectl,
    helm: (args, options) => must("helm", args, options),
    apply: (manifest) => kubectl(["apply", "-f", "-"], { input: manifest }),
    connect: machine.connect,
    forward: (address) => forward(() => machine.connect(address)),
    async forwardService(service) {
      // Only in namespaces of our own do routes lead to the addresses of Services.
      if (way !== "namespaces") return portForward(machine.start, service);
      const host = await kubectl(["get", "service", "-n", service.namespace, service.name, "-o", "jsonpath={.spec.clusterIP}"]);
      return forward(() => machine.connect({ host, port: service.port }));
    },
    async publish(ours, port = 0) {
      const { address, close } = await machine.publish({ host: gateway, port }, ours);
      return { url: `http://${address.host}:${address.port}`, close };
    },
  };
}

/** Where the relay of a cluster in namespaces listens. */
export function relaySocket(name: string): string {
  return path.join(clusterFolder(name), "relay.sock");
}

/** The machine of a cluster, with its programs in PATH. */
export function machineOfState(state: ClusterState): Machine {
  const environment: Record<string, string> = { KUBECONFIG: state.kubeconfig, PATH: searchPath(state.programs) };
  if (state.namespaces === undefined) {
    const start: Start = (command, args, options) => {
      return thisMachine.start(command, args, { ...options, env: { ...(options.env ?? process.env), ...environment } });
    };
    return { ...thisMachine, start };
  }
  return machineOf(state.namespaces, {
    socket: relaySocket(state.name),
    // What kubectl, helm and docker keep at home goes when the cluster goes. No proxy of the machine is in reach.
    environment: { ...environment, DOCKER_HOST, HOME: path.join(clusterFolder(state.name), "home"), NO_PROXY: "*", no_proxy: "*" },
  });
}

function searchPath(programs: string): string {
  const own = process.env["PATH"] ?? "";
  return programs === "" ? own : `${programs}${path.delimiter}${own}`;
}
