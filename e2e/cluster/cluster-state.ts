import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Process } from '../testing/processes.ts';
import { cacheFolder } from './folders.ts';
import { areAlive, type Namespaces } from './machine/namespaces.ts';

/** How a cluster was created. */
export type ClusterWay =
  /** Named by KUBECONFIG. */
  | 'given'
  /** kind on the machine's own Docker daemon. */
  | 'docker'
  /** kind on a separate Docker daemon in its own namespaces. */
  | 'namespaces';

/** The URLs of Wherry on this machine, without a trailing slash. */
export interface ClusterUrls {
  functions: string;
  management: string;
}

/** The process that forwards ports of this machine to a cluster, and the resulting URLs. */
export interface Forwarder {
  process: Process;
  urls: ClusterUrls;
}

/** The state of a cluster, stored so that other processes can use the cluster. */
export interface ClusterState {
  name: string;
  way: ClusterWay;
  /** Path of its kubeconfig, whose address is valid where its Docker daemon runs. */
  kubeconfig: string;
  /** The folder with kubectl, helm and kind; empty if those in PATH are used. */
  programs: string;
  /** The address of its node, on which NodePorts are reachable. */
  node: string;
  /** The node's gateway: the address at which pods reach programs that listen next to the Docker daemon. */
  gateway: string;
  namespaces?: Namespaces;
  /** Set once Wherry is installed. */
  forwarder?: Forwarder;
  /** Set once the node is up. */
  isReady: boolean;
}

const NAME = /^[a-z][a-z0-9-]{0,30}$/;

/** The folder of a cluster's state, images and containers. @throws Error for an invalid name. */
export function clusterFolder(name: string): string {
  if (!NAME.test(name))
    throw new Error(
      `"${name}" is not a valid cluster name: use 1 to 31 lowercase letters, digits and hyphens, and begin with a letter.`,
    );
  return cacheFolder('clusters', name);
}

export function readState(name: string): ClusterState | undefined {
  const file = stateFile(name);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ClusterState) : undefined;
}

export function writeState(state: ClusterState): void {
  const file = stateFile(state.name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(`${file}.part`, JSON.stringify(state, undefined, 2));
  renameSync(`${file}.part`, file);
}

/** The names of all clusters that are running or have left files behind. */
export function clusterNames(): string[] {
  const folder = cacheFolder('clusters');
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

/** Whether the cluster may still be running. */
export function isThere(state: ClusterState): boolean {
  return state.namespaces === undefined || areAlive(state.namespaces);
}

function stateFile(name: string): string {
  return path.join(clusterFolder(name), 'state.json');
}
