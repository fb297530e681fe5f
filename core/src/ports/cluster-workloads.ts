import type { Hello } from '../feed/messages.ts';
import type { RuntimeIdentity } from './runtime-feed.ts';
import type { Workloads } from './workloads.ts';

/** What a runtime says of itself when it connects to the feed. */
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
  /** Resolves when what runs is known: `list` is whole from then on. */
  start(): Promise<void>;
  /** Pods run on. */
  stop(): Promise<void>;
  /** This replica does not lead any more: nothing is kept as it was ensured. */
  rest(): void;
  /**
   * Which instance connects; undefined: none that its pod and that pod's address confirm. Waits up to ten seconds for
   * these.
   */
  identify(hello: RuntimeHello, peer: RuntimePeer): Promise<RuntimeIdentity | undefined>;
  /**
   * The pod's runtime has reported over the feed that it takes calls: it counts as ready before the kubelet says so.
   * @returns to be called when its connection has ended, and with it perhaps the process.
   */
  markLoaded(podName: string): () => void;
}
