import type { KeyObject } from 'node:crypto';
import { createDigestKey } from '@wherry/core/crypto/key-digest.ts';
import type { Builder } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { KeyLedger } from '@wherry/core/ports/key-ledger.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { ReferencedSecrets } from '@wherry/core/ports/referenced-secrets.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { StoreRestores } from '@wherry/core/ports/store-restores.ts';
import type { MetricsSink } from '@wherry/core/ports/telemetry.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';
import { createConfidentialReader } from '@wherry/core/confidential/confidential-reader.ts';
import { beginTerm, type Term, type TermDependencies } from './begin-term.ts';
import { createBuildMetrics } from './builds/build-scheduler.ts';
import type { Caches } from './informers/caches.ts';
import { observeWorkloads } from './informers/observed-workloads.ts';
import { createActiveTrees, createTreeCache } from './content/trees.ts';
import { createDemandBoard, type DemandBoard } from './feed/demand-board.ts';
import { invocationToken } from './feed/invocation-token.ts';
import type { LogIntake } from './feed/log-intake.ts';
import { createKeyRecords } from './keys/key-records.ts';
import { RouterFeed, type KnownState, type RouterOutcome } from './feed/router-feed.ts';
import { exposeFunctions } from './functions/function-metrics.ts';
import { createReconcileMetrics } from './controller/controller.ts';
import { createUndecryptable } from './secrets/undecryptable.ts';

interface OperatorOptions {
  store: ResourceStore;
  /** Caches of that store, not yet started; shared with the runtimes' feed. */
  caches: Caches;
  content: ContentStore;
  builder: Builder;
  workloads: Workloads;
  keyRing: KeyRing;
  /** Filled before the operator starts; shared with the runtimes' feed. */
  referencedSecrets: ReferencedSecrets;
  /** Derives the tokens by which runtimes recognise calls of routers; shared with the runtimes' feed. */
  invocationKey: KeyObject;
  /** The secret of API keys' digests, 32 bytes. Routers receive it. */
  digestKey: Uint8Array;
  /** Where log entries go; shared with the runtimes' feed. */
  logs: LogIntake;
  /** Where routers' reports on the use of keys go. */
  keyLedger: KeyLedger;
  /** Where metrics of executions go. */
  executions: MetricsSink;
  /** Base of the function port's URLs, without a slash at its end. */
  functionUrl: string;
  /** Milliseconds after the start in which routers of an earlier operator may still reconnect. Default 0. */
  routersReturnMs?: number;
  /** Absent for a store that is never restored while routers run. */
  restores?: StoreRestores;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

export interface Operator {
  /**
   * Serves a router's feed on this connection until it ends. The outcome says whether the router listens; it never
   * rejects.
   * @param known the newest state that the router knows: nothing is sent before the caches are there too.
   */
  attachRouter(channel: FeedChannel, known?: KnownState): { outcome: Promise<RouterOutcome> };
  /**
   * Resolves when all caches are full and a first snapshot is out; keeps trying until then. Every replica does this.
   */
  start(): Promise<void>;
  /** From now on it reconciles, builds and collects. Call it after `start`; it may be called again. */
  lead(): Promise<void>;
  /** Resolves when it has stopped all that; the feeds continue. It may lead again. */
  stopLeading(): Promise<void>;
  /** Nothing is reconciled, built or sent any more. Instances keep running. */
  stop(): Promise<void>;
  /** Resolves when nothing waits to be reconciled at this moment. */
  idle(): Promise<void>;
  readonly demand: DemandBoard;
}

/** Composes the operator. It writes statuses and child objects, never a spec. */
export function buildOperator(options: OperatorOptions): Operator {
  const { caches, content, workloads, invocationKey, metrics } = options;
  const logger = options.logger.child({ part: 'operator' });
  const demand = createDemandBoard();
  const observed = observeWorkloads(workloads);
  exposeFunctions(metrics, caches);
  const trees = createTreeCache(content);
  const digestKey = createDigestKey(options.digestKey);
  const reader = createConfidentialReader(options.keyRing, options.referencedSecrets);
  const keyRecords = createKeyRecords({ ...options, reader, digestKey });
  const routers = new RouterFeed({
    ...options,
    digestKey,
    keyRecords,
    observed,
    demand,
    logger,
    tokenOf: (workload) => invocationToken(invocationKey, workload),
  });
  const dependencies: TermDependencies = {
    ...options,
    logger,
    reader,
    keyRecords,
    observed,
    trees,
    activeTrees: createActiveTrees(caches, trees),
    routers,
    undecryptable: createUndecryptable(metrics),
    reconcileMetrics: createReconcileMetrics(metrics),
    buildMetrics: createBuildMetrics(metrics),
  };
  const terms = createTerms(() => beginTerm(dependencies));
  let stopped = false;

  return {
    demand,
    attachRouter: (channel, known) => routers.attach(channel, known),
    async start() {
      await caches.start();
      if (!stopped) routers.start();
    },
    lead: () => (stopped ? Promise.resolve() : terms.begin()),
    stopLeading: () => terms.end(),
    async stop() {
      stopped = true;
      observed.stop();
      keyRecords.stop();
      routers.stop();
      await Promise.all([terms.end(), caches.stop()]);
    },
    idle: async () => terms.current()?.controllers.idle(),
  };
}

/** One term after the other: the next begins when the last one has ended. */
function createTerms(begin: () => Term): { begin(): Promise<void>; end(): Promise<void>; current(): Term | undefined } {
  let term: Term | undefined;
  let wanted = false;
  let last = Promise.resolve();
  return {
    current: () => term,
    begin() {
      wanted = true;
      last = last.then(() => {
        if (wanted) term ??= begin();
      });
      return last;
    },
    end() {
      wanted = false;
      last = last.then(async () => {
        const ending = term;
        term = undefined;
        await ending?.stop();
      });
      return last;
    },
  };
}
