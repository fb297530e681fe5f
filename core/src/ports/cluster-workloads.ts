import type { Hello } from '../feed/messages.ts';
import type { RuntimeIdentity } from './runtime-feed.ts';
import type { Workloads } from './workloads.ts';

/** What a runtime claims about itself when it connects to the feed. */
export type RuntimeHello = Extract<Hello, { role: 'runtime' }>;

/** Where a runtime's connection comes from. */
export interface RuntimePeer {
  /** As Node writes it, IPv4 inside IPv6 as IPv4. */
  address: string;
  /** Aborts when the connection has ended. */
  gone: AbortSignal;
}

/**
 * Workloads of a cluster, whose instances are pods. Each replica observes them; only the one that leads ensures and
 * removes.
 */
export interface ClusterWorkloads extends Workloads {
  /** Resolves when all that runs is known: from then on, `list` is complete. */
  start(): Promise<void>;
  /** Pods keep running. */
  stop(): Promise<void>;
  /** This replica no longer leads: it no longer maintains the workloads that it ensured. */
  rest(): void;
  /**
   * Which instance connects; undefined if no pod with that address confirms it. Waits up to ten seconds for the pod and
   * its address.
   */
  identify(hello: RuntimeHello, peer: RuntimePeer): Promise<RuntimeIdentity | undefined>;
  /**
   * The pod's runtime has reported over the feed that it takes calls: it counts as ready before the kubelet says so.
   * @returns a function to call when its connection, and with it perhaps the process, has ended.
   */
  markLoaded(podName: string): () => void;
}
