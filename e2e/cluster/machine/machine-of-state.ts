import path from 'node:path';
import type { Start } from '../command.ts';
import { clusterFolder, type ClusterState } from '../cluster-state.ts';
import { DOCKER_HOST } from './docker-daemon.ts';
import type { Machine } from './machine.ts';
import { machineOf } from './namespaces.ts';
import { thisMachine } from './this-machine.ts';

/** Where the relay of a cluster in namespaces listens. */
export function relaySocket(name: string): string {
  return path.join(clusterFolder(name), 'relay.sock');
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
    // What kubectl, helm and docker keep at home goes when the cluster goes. No proxy of the machine is reachable.
    environment: {
      ...environment,
      DOCKER_HOST,
      HOME: path.join(clusterFolder(state.name), 'home'),
      NO_PROXY: '*',
      no_proxy: '*',
    },
  });
}

function searchPath(programs: string): string {
  const own = process.env['PATH'] ?? '';
  return programs === '' ? own : `${programs}${path.delimiter}${own}`;
}
