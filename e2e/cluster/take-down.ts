import { rm } from 'node:fs/promises';
import { runProgram } from './command.ts';
import { clusterFolder, readState, type ClusterState, type ClusterWay } from './cluster-state.ts';
import { removeControlGroup } from './machine/control-group.ts';
import { machineOfState } from './machine/machine-of-state.ts';
import { endNamespaces } from './machine/namespaces.ts';
import { controlGroup, kindName, RELEASE, SYSTEM_NAMESPACE } from './names.ts';
import { endForwarder } from './start-forwarder.ts';

/**
 * Ends a cluster that was brought up, or what is left of one, and removes every trace. From one that KUBECONFIG named,
 * only Wherry is removed.
 */
export async function takeDown(name: string): Promise<void> {
  const folder = clusterFolder(name);
  const state = readState(name);
  if (state?.forwarder !== undefined) endForwarder(state.forwarder);
  if (state !== undefined) await END[state.way](state);
  await rm(folder, { recursive: true, force: true });
}

const END: Record<ClusterWay, (state: ClusterState) => Promise<void>> = {
  async given(state) {
    if (state.forwarder === undefined) return;
    const { start } = machineOfState(state);
    const args = ['uninstall', RELEASE, '--namespace', SYSTEM_NAMESPACE, '--ignore-not-found', '--wait'];
    const { code, stderr } = await runProgram('helm', args, { start });
    if (code !== 0) throw new Error(`Wherry could not be uninstalled: ${stderr.trim()}`);
  },
  async docker(state) {
    const { start } = machineOfState(state);
    const { code, stderr } = await runProgram('kind', ['delete', 'cluster', '--name', kindName(state.name)], { start });
    if (code !== 0) throw new Error(`kind could not delete the cluster: ${stderr.trim()}`);
  },
  async namespaces({ name, namespaces }) {
    if (namespaces !== undefined) await endNamespaces(namespaces);
    await removeControlGroup(controlGroup(name));
  },
};
