import type { Digest } from '../resources/meta.ts';
import type { FeedChannel } from './feed-channel.ts';
import type { InstanceAddress, WorkloadFailure } from './workloads.ts';

/** Which instance speaks on a runtime's feed connection. */
export interface RuntimeIdentity {
  instanceId: string;
  workload: string;
  functionName: string;
  revision: Digest;
  /** Where it listens. */
  listen: InstanceAddress;
}

/** How the start of a runtime ended; `closed` when the connection ended first. */
export type RuntimeOutcome =
  | { type: 'loaded'; address: InstanceAddress }
  | { type: 'failed'; reason: Exclude<WorkloadFailure['reason'], 'CrashLoop'>; message: string }
  | { type: 'closed' };

/** One runtime's connection. */
export interface RuntimeSession {
  /** Resolves once and never rejects. */
  outcome: Promise<RuntimeOutcome>;
  /**
   * When the runtime last sent a message, in monotonic milliseconds; initially, when it was attached. It answers every
   * heartbeat (each HEARTBEAT_SECONDS), so a long silence means a blocked event loop.
   */
  lastHeard(): number;
}

/**
 * The operator's side of the runtimes' feed: sends each runtime its artifact and state, and keeps the state current.
 */
export interface RuntimeFeed {
  /** Serves one runtime until its connection ends: `start` at once, then states and heartbeats. */
  attach(channel: FeedChannel, identity: RuntimeIdentity): RuntimeSession;
}
