import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { createProcessBuilder } from '@wherry/builder/build-process/create-process-builder.ts';
import type { RegistrySettings } from '@wherry/builder/packages/create-package-registry.ts';
import { readRegistryOptions } from '@wherry/builder/packages/registry-config.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ContentStore } from '@wherry/core/ports/content-store.ts';
import type { KeyLedger } from '@wherry/core/ports/key-ledger.ts';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import { NO_REFERENCED_SECRETS } from '@wherry/core/ports/referenced-secrets.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import type { MetricsSink, TelemetrySink } from '@wherry/core/ports/telemetry.ts';
import type { Workloads } from '@wherry/core/ports/workloads.ts';
import { buildOperator, type Operator } from '@wherry/operator/build-operator.ts';
import { createCaches } from '@wherry/operator/informers/caches.ts';
import { createLogIntake } from '@wherry/operator/feed/log-intake.ts';
import { CachedRuntimeFeed } from '@wherry/operator/feed/runtime-feed.ts';
import type { EmbeddedConfig } from './config.ts';
import { buildIdentities } from './workloads/build-identity.ts';
import { createProcessWorkloads } from './workloads/process-workloads.ts';
import type { Spares } from './workloads/spares.ts';

interface StartOperatorOptions {
  store: ResourceStore;
  content: ContentStore;
  keyRing: KeyRing;
  digestKey: KeyObject;
  telemetry: TelemetrySink;
  keyLedger: KeyLedger;
  executions: MetricsSink;
  functionUrl: string;
  /** Where the functions' processes come from; the operator's workloads stop them. */
  spares: Promise<Spares>;
  npm: EmbeddedConfig['npm'];
  /** Folder for what can be fetched again: packages. */
  cache: string;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

interface StartedOperator extends Pick<Operator, 'attachRouter'> {
  /** Resolves when routers know an instance of the functions that there are; not after `FIRST_INSTANCE_MS`. */
  firstInstance(): Promise<void>;
}

const FIRST_INSTANCE_MS = 300;

/** Builds and starts the operator with what runs and builds functions on this machine. */
export async function startOperator(
  options: StartOperatorOptions,
  parts: AsyncDisposableStack,
): Promise<StartedOperator> {
  const { content, clock, logger, metrics } = options;
  const caches = createCaches(options);
  const logs = createLogIntake(options);
  parts.defer(() => logs.stop());
  // Instances do not outlive the service, so their tokens need not either.
  const invocationKey = createSecretKey(randomBytes(32));
  const runtimeFeed = new CachedRuntimeFeed({
    ...options,
    caches,
    referencedSecrets: NO_REFERENCED_SECRETS,
    invocationKey,
    logs,
  });
  const workloads = createProcessWorkloads({ ...options, spares: await options.spares, runtimeFeed });
  parts.defer(() => workloads.stop());
  const { build, install } = buildIdentities(logger);
  const packages = packageRegistry(options, await readRegistryOptions(options.npm), install);
  parts.defer(async () => (await packages.made)?.stop());
  const builder = createProcessBuilder({
    content,
    packages: packages.get,
    clock,
    logger,
    metrics,
    ...(build && { identity: build }),
  });
  parts.defer(() => builder.stop());
  const digestKey = options.digestKey.export();
  const operator = buildOperator({
    ...options,
    referencedSecrets: NO_REFERENCED_SECRETS,
    caches,
    builder,
    workloads,
    invocationKey,
    digestKey,
    logs,
  });
  parts.defer(() => operator.stop());
  await operator.start();
  await operator.lead();
  return {
    attachRouter: (channel) => operator.attachRouter(channel),
    async firstInstance() {
      const late = Promise.withResolvers<void>();
      const cancel = clock.after(FIRST_INSTANCE_MS, late.resolve);
      await Promise.race([knownInstance(operator, workloads, late.promise), late.promise]);
      cancel();
    },
  };
}

/** Resolves when an instance is ready, or none is wanted, and routers know. */
async function knownInstance(operator: Operator, workloads: Workloads, late: Promise<void>): Promise<void> {
  await operator.idle();
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = (): void => {
    const all = workloads.list();
    if (all.length === 0 || all.some(({ instances }) => instances.some(({ ready }) => ready))) resolve();
  };
  const stop = workloads.watch(check);
  check();
  await Promise.race([promise, late]);
  stop();
  await operator.idle();
}

/** Loaded for the first build that needs packages: it is no part of a start. */
function packageRegistry(
  { cache, clock, logger, metrics }: StartOperatorOptions,
  registry: RegistrySettings,
  install: ReturnType<typeof buildIdentities>['install'],
) {
  return once(async () => {
    const { createPackageRegistry } = await import('@wherry/builder/packages/create-package-registry.ts');
    return createPackageRegistry({
      cacheDirectory: `${cache}/packages`,
      registry,
      clock,
      logger,
      metrics,
      ...(install && { identity: install }),
    });
  });
}

/** Creates something when it is first needed. */
function once<T>(make: () => Promise<T>): { get: () => Promise<T>; readonly made: Promise<T> | undefined } {
  let made: Promise<T> | undefined;
  return {
    get: () => (made ??= make()),
    get made() {
      return made;
    },
  };
}
