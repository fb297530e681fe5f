import type { Server } from 'node:http';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { RouterUp } from '@wherry/core/feed/messages.ts';
import { METRICS } from '@wherry/core/metric-definitions.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import { trustedNetworks } from '@wherry/service/trusted-networks.ts';
import { BadKeyThrottle } from '@wherry/service/bad-key-throttle.ts';
import { Authenticator } from './auth/authenticate.ts';
import { createChain } from './chain.ts';
import { DemandReporter } from './feed/demand-reporter.ts';
import { followFeed } from './feed/feed-client.ts';
import { createKeyReports } from './key-use/key-reports.ts';
import { UndiciUpstream } from './upstream/undici-upstream.ts';
import type { UpstreamAddress } from './upstream/upstream.ts';
import { UpstreamConnections } from './upstream/upstream-connections.ts';
import { CallBudget } from './limit/call-budget.ts';
import { capacityOf, processResources, type Capacity } from './limit/capacity.ts';
import { managerPipe } from './manager-pipe/pipe-to-manager.ts';
import { Connections } from './server/connections.ts';
import { createFront, type FrontOptions } from './server/create-front.ts';
import { drain, type DrainOptions } from './server/drain.ts';
import { RouterState } from './state/router-state.ts';
import { CallRecorder } from './telemetry/call-recorder.ts';
import { LogQueue } from './telemetry/log-queue.ts';
import { MetricsReporter } from './telemetry/metrics-reporter.ts';
import { ROUTER_LIMITS } from './limits.ts';

/** Bytes that may wait for a slow operator; beyond that, log entries wait in the router and may be dropped. */
const CONGESTED_BYTES = 1024 * 1024;

export interface RouterOptions {
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** Addresses or CIDR blocks whose X-Forwarded-* headers are trusted. */
  trustedProxies?: readonly string[];
  /** Equal ports: where the manager listens, for every path but `/run`. */
  managerAddress?: UpstreamAddress;
  front?: FrontOptions;
  /** How much it handles at once; by default, derived from the limits of the process. */
  capacity?: Capacity;
}

export interface Router {
  /** Call `listen` on it. */
  readonly server: Server;
  /** Whether it has received its functions (R8). */
  isReady(): boolean;
  /** The newest state that is applied; sent in a connection's hello. */
  known(): { resourceVersion: string; restores?: number };
  /** Follows one feed connection until it ends; the last known state stays active afterwards. */
  follow(channel: FeedChannel): Promise<void>;
  /** Stops accepting, finishes calls, and resolves when all is closed. */
  drain(options: DrainOptions): Promise<void>;
}

/** Composes the data plane of the function port. @throws RangeError for a trusted proxy that is not a network. */
export function buildRouter(options: RouterOptions): Router {
  const { clock, logger, metrics } = options;
  const capacity = options.capacity ?? capacityOf(processResources());
  const trusts = trustedNetworks(options.trustedProxies ?? []);
  const upstreams = new UpstreamConnections(capacity.upstreams);
  const open = (address: UpstreamAddress): UndiciUpstream => new UndiciUpstream(address, upstreams);
  const state = new RouterState(open, logger, metrics);
  let feed: FeedChannel | undefined;
  const send = (message: RouterUp): void => feed?.send(message);
  const demand = new DemandReporter(clock, () => state.functions, send);
  const keys = createKeyReports(clock);
  const manager = options.managerAddress === undefined ? undefined : open(options.managerAddress);
  const budget = new CallBudget(capacity.calls);
  const { recorder, ...telemetry } = createTelemetry(options, state);
  const chain = createChain({
    clock,
    logger,
    state,
    recorder,
    ...keys.parts,
    authenticator: new Authenticator(clock, new BadKeyThrottle(clock)),
    trusts,
    budget,
    onWaiting: () => demand.urge(),
    pipeToManager: manager === undefined ? undefined : managerPipe(manager, budget, clock),
  });
  const { headersTimeoutMs = ROUTER_LIMITS.headMs, keepAliveMs = ROUTER_LIMITS.idleMs } = options.front ?? {};
  const maxIdleMs = keepAliveMs + headersTimeoutMs;
  const connections = new Connections({ chain, clock, trusts, capacity, headersTimeoutMs, maxIdleMs });
  const server = createFront(connections, options.front);
  demand.start();
  keys.start();
  return {
    server,
    isReady: () => state.ready,
    known: () => ({ resourceVersion: state.resourceVersion, ...(state.restores > 0 && { restores: state.restores }) }),
    async follow(channel) {
      feed = channel;
      telemetry.connect(channel);
      keys.connect(send);
      demand.sayAgain();
      const onAnswers = { onStored: telemetry.onStored, onLimits: keys.onLimits };
      await followFeed(channel, { state, logger, onHeard: telemetry.onHeard, ...onAnswers });
      // A newer connection may have replaced it.
      if (feed !== channel) return;
      feed = undefined;
      telemetry.connect(undefined);
      keys.connect(undefined);
    },
    async drain(drainOptions) {
      await drain(server, connections, clock, drainOptions);
      demand.stop();
      keys.stop();
      await telemetry.close();
      await Promise.all([state.close(), manager?.destroy()]);
    },
  };
}

/** Exposes how old the state is: since the start where there was none. @returns call it when the feed confirms it. */
function exposeStateAge({ clock, metrics }: RouterOptions): () => void {
  let heardAt = clock.monotonic();
  metrics.gauge(METRICS.routerStateAge).observe(() => [[{}, (clock.monotonic() - heardAt) / 1000]]);
  return () => {
    heardAt = clock.monotonic();
  };
}

/** What records calls, and sends log entries and metrics of executions up the feed. */
function createTelemetry(options: RouterOptions, state: RouterState) {
  const { clock, logger, metrics } = options;
  const heard = exposeStateAge(options);
  const logs = new LogQueue(clock, metrics, () => state.logBatch);
  const intervalSeconds = (): number => state.metricsIntervalSeconds;
  const executions = new MetricsReporter({ clock, logger, metrics, intervalSeconds });
  const recorder = new CallRecorder(clock, metrics, {
    log: (entry) => logs.write(entry),
    execution: (execution) => executions.add(execution),
    keys: () => state.keys,
  });
  return {
    recorder,
    onStored: (sequence: number): void => executions.stored(sequence),
    /** The feed has confirmed or changed the state. */
    onHeard: (): void => {
      heard();
      executions.followInterval();
    },
    /** Where it sends from now on; undefined: what is recorded waits. */
    connect(channel: FeedChannel | undefined): void {
      const send = channel && ((message: RouterUp): void => channel.send(message));
      logs.connect(send && { send, isCongested: () => (channel?.queuedBytes?.() ?? 0) > CONGESTED_BYTES });
      executions.connect(send);
    },
    async close(): Promise<void> {
      recorder.close();
      logs.close();
      await executions.close();
    },
  };
}
