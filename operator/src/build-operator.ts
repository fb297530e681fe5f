import type { KeyObject } from 'node:crypto';
import { createDigestKey } from '@wherry/core/crypto/key-digest.ts';
import type { Builder } from '@wherry/core/ports/builder.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { FeedChannel } from '@wherry/core/ports/feed-channel.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';
import { BuildRoom } from './builds/build-room.ts';
import { createSourceLocks } from './builds/source-locks.ts';
import type { Caches } from './caches/caches.ts';
import { observeWorkloads } from './caches/observed-workloads.ts';
import { collectContent } from './content/collect-content.ts';
import { createTreeCache } from './content/tree-cache.ts';
import { createTreesInForce } from './content/trees-in-force.ts';
import { createControllers } from './controllers.ts';
import { createDemandBoard, type DemandBoard } from './feed/demand-board.ts';
import { invocationToken } from './feed/invocation-token.ts';
import type { LogIntake } from './feed/log-intake.ts';
import { createKeyRecords } from './keys/key-records.ts';
import { RouterFeed, type RouterOutcome } from './feed/router-feed.ts';

/** How often blobs that nothing refers to are looked for. */
const COLLECT_MS = 600_000;

export interface OperatorOptions {
  store: ResourceStore;
  /** Of that store, and not yet started; the runtimes' feed is made of them too. */
  caches: Caches;
  content: ContentStore;
  builder: Builder;
  workloads: Workloads;
  keyRing: KeyRing;
  /** 32 random bytes of this start of the service; the runtimes' feed has the same. */
  feedKey: KeyObject;
  /** The secret of API keys' digests, 32 bytes. Routers are sent it. */
  digestKey: Uint8Array;
  /** Where log entries go; the runtimes' feed has the same. */
  logs: LogIntake;
  /** Base of the function port's URLs, without a slash at its end. */
  functionUrl: string;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

export interface Operator {
  /** Serves a router's feed on this connection until it ends. The outcome says whether the router listens; it never rejects. */
  attachRouter(channel: FeedChannel): { outcome: Promise<RouterOutcome> };
  /** Resolves when all caches are full and a first snapshot is out; keeps trying until then. */
  start(): Promise<void>;
  /** Nothing is reconciled, built or told any more. What runs goes on running. */
  stop(): Promise<void>;
  /** Resolves when nothing waits to be reconciled at this moment. */
  idle(): Promise<void>;
  readonly demand: DemandBoard;
}

/** Composes the operator. It writes statuses and child objects, never a spec. */
export function buildOperator(options: OperatorOptions): Operator {
  const { caches, content, workloads, clock, feedKey } = options;
  const logger = options.logger.child({ part: 'operator' });
  const demand = createDemandBoard();
  const observed = observeWorkloads(workloads);
  const trees = createTreeCache(content);
  const treesInForce = createTreesInForce(caches, trees);
  const digestKey = createDigestKey(options.digestKey);
  const keyRecords = createKeyRecords(caches, options.keyRing, digestKey);
  const routers = new RouterFeed({ ...options, digestKey, keyRecords, observed, demand, logger, tokenOf: (workload) => invocationToken(feedKey, workload) });
  const locks = createSourceLocks(options);
  const builds = new BuildRoom({ ...options, logger, locks, onSettled: (handler) => controllers.handlerBuilt(handler) });
  const controllers = createControllers({ ...options, logger, keyRecords, observed, trees, treesInForce, builds, routersKnow: (name) => routers.routersKnow(name) });
  const stopWatching = workloads.watch((_name, functionName) => {
    routers.touchFunction(functionName);
    controllers.functions.enqueue(functionName);
  });
  routers.onKnown((names) => names.forEach((name) => controllers.functions.enqueue(name)));
  let cancelCollect = (): void => undefined;
  let stopped = false;

  function collectLater(): void {
    cancelCollect = clock.after(COLLECT_MS, () => {
      void collectContent({ caches, content, trees, builds, workloads })
        .then((count) => logger.debug({ count }, 'collected blobs that nothing refers to'))
        .catch((error: unknown) => logger.warn({ err: error }, 'could not collect blobs'));
      collectLater();
    });
  }

  return {
    demand,
    attachRouter: (channel) => routers.attach(channel),
    async start() {
      await caches.start();
      if (stopped) return;
      routers.start();
      controllers.start();
      for (const name of observed.functionNames()) controllers.functions.enqueue(name);
      collectLater();
    },
    async stop() {
      stopped = true;
      cancelCollect();
      stopWatching();
      observed.stop();
      routers.stop();
      await Promise.all([controllers.stop(), builds.stop(), caches.stop()]);
    },
    idle: () => controllers.idle(),
  };
}
