import type { Digest } from '../resources/meta.ts';

/** What all instances of a workload have in common; a different template makes a different workload. */
export interface InstanceTemplate {
  memoryMiB: number;
  cpuMillis: number | null;
}

/** One pair of artifact and template, to run in `replicas` instances. A workload is scaled, never rolled. */
export interface DesiredWorkload {
  /** `<function>-<hash>`, from `workloadName`. */
  name: string;
  functionName: string;
  functionUid: string;
  revision: Digest;
  template: InstanceTemplate;
  replicas: number;
  /** How long running calls may take to finish when an instance drains. */
  drainSeconds: number;
}

/** Where an instance answers: a Unix socket, or TCP. */
export type InstanceAddress = { path: string } | { host: string; port: number };

export interface ObservedInstance {
  /** Never used again for another instance. */
  id: string;
  /** Known once it listens. */
  address?: InstanceAddress;
  /** It has loaded the artifact and takes calls. */
  ready: boolean;
}

/** Why no instance of a workload becomes ready: its code cannot be loaded, or it dies again and again. */
export interface WorkloadFailure {
  reason: 'ExportError' | 'LoadError' | 'CrashLoop';
  message: string;
}

export interface ObservedWorkload {
  name: string;
  functionName: string;
  revision: Digest;
  /** How many instances are wanted. */
  replicas: number;
  instances: ObservedInstance[];
  failure?: WorkloadFailure;
  /**
   * What keeps instances from starting at all, in a sentence for people: no capacity, no image, a name that is in use.
   */
  waiting?: string;
}

/** Runs instances. Everything is idempotent; `watch` notifies of what is observed, and `list` reads it. */
export interface Workloads {
  /** Brings the workload to this state and keeps it there: instances that die are replaced with backoff. */
  ensure(desired: DesiredWorkload): Promise<void>;
  /** Drains all of its instances and removes it; resolves when they have begun to drain. An unknown name is ignored. */
  remove(name: string): Promise<void>;
  list(): ObservedWorkload[];
  /** Calls back with a workload's name after each change of it. Returns how to stop. */
  watch(onChange: (name: string, functionName: string) => void): () => void;
}
