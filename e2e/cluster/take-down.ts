import { rm } from "node:fs/promises";
import { runProgram } from "./command.ts";
import { clusterFolder, readState, type ClusterState, type ClusterWay } from "./cluster-state.ts";
import { machineOfState } from "./machine/machine-of-state.ts";
import { endNamespaces, removeControlGroup } from "./machine/namespaces.ts";
import { endForwarder } from "./start-forwarder.ts";

/** kind's name of a cluster: it cannot be one that a person made. */
export function kindName(name: string): string {
  return `wherry-${name}`;
}

/** The control group of all that runs in a cluster's containers. */
export function controlGroup(name: string): string {
  return `wherry-cluster-${name}`;
}

/** Ends a cluster that was brought up, or what is left of one, and removes every trace. A cluster that KUBECONFIG named stays. */
export async function takeDown(name: string): Promise<void> {
  const folder = clusterFolder(name);
  const state = readState(name);
  if (state?.forwarder !== undefined) endForwarder(state.forwarder);
  if (state !== undefined) await END[state.way](state);
  await rm(folder, { recursive: true, force: true });
}

const END: Record<ClusterWay, (state: ClusterState) => Promise<void>> = {
  given: async () => undefined,
  async docker(state) {
    const { start } = machineOfState(state);
    const { code, stderr } = await runProgram("kind", ["delete", "cluster", "--name", kindName(state.name)], { start });
    if (code !== 0) throw new Error(`kind could not delete the cluster: ${stderr.trim()}`);
  },
  async namespaces({ name, namespaces }) {
    if (namespaces !== undefined) await endNamespaces(namespaces);
    await removeControlGroup(controlGroup(name));
  },
};
