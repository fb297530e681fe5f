import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Process } from '../testing/processes.ts';
import { cacheFolder } from './folders.ts';
import { areAlive, type Namespaces } from './machine/namespaces.ts';

/** How a cluster was created. */
export type ClusterWay =
  /** KUBECONFIG named one. */
  | 'given'
  /** kind on the machine's own Docker daemon. */
  | 'docker'
  /** kind on a Docker daemon in namespaces of its own. */
  | 'namespaces';

/** Where Wherry is reached from this machine, without a trailing slash. */
export interface ClusterUrls {
  functions: string;
  management: string;
}

/** The process that leads ports of this machine into a cluster, and where it does. */
export interface Forwarder {
  process: Process;
  urls: ClusterUrls;
}

/** The stored state of a cluster, so that another process finds it. */
export interface ClusterState {
  name: string;
  way: ClusterWay;
  /** Its kubeconfig: reached from where its Docker daemon runs. */
  kubeconfig: string;
  /** The folder with kubectl, helm and kind; empty where those in PATH are used. */
  programs: string;
  /** The address of its node, where NodePorts answer. */
  node: string;
  /** The node's gateway: the address at which pods reach what listens beside the Docker daemon. */
  gateway: string;
  namespaces?: Namespaces;
  /** Once Wherry is installed. */
  forwarder?: Forwarder;
  /** Set once the node is up. */
  isReady: boolean;
}

const NAME = /^[a-z][a-z0-9-]{0,30}$/;

/** Where a cluster's state, images and containers lie. @throws Error that says what a name may be */
export function clusterFolder(name: string): string {
  if (!NAME.test(name))
    throw new Error(
      `"${name}" is no name for a cluster: small letters, digits and hyphens, 31 at most, a letter first.`,
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

/** All names, of clusters that run and of those that left their files. */
export function clusterNames(): string[] {
  const folder = cacheFolder('clusters');
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

/** Whether what the state describes can still be there. */
export function isThere(state: ClusterState): boolean {
  return state.namespaces === undefined || areAlive(state.namespaces);
}

function stateFile(name: string): string {
  return path.join(clusterFolder(name), 'state.json');
}
