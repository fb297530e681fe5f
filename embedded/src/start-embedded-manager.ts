import type { RequestListener } from 'node:http';
import { buildManager } from '@wherry/manager/build-manager.ts';
import { ensureFirstStart } from '@wherry/manager/first-start/ensure-first-start.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { NO_REFERENCED_SECRETS } from '@wherry/core/ports/referenced-secrets.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { EmbeddedConfig } from './config.ts';
import { listenManager } from './listen-manager.ts';
import type { Stores } from './open-stores.ts';
import { urlOf, type WelcomeFacts } from './welcome.ts';

/**
 * An answer waits this long for the operator, which needs some milliseconds: who made a function can call it at once.
 */
const OPERATOR_MS = 500;

interface StartEmbeddedManagerOptions extends Stores {
  config: EmbeddedConfig;
  functionUrl: string;
  /** Equal ports: where it listens, for the router. */
  managerSocket: string | undefined;
  /** Resolves when callers can reach functions. */
  routerListens: Promise<unknown>;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/**
 * Builds the manager, listens, and does what a first start does.
 * @throws StartError for a port that is taken or may not be opened.
 */
export async function startEmbeddedManager(
  options: StartEmbeddedManagerOptions,
  parts: AsyncDisposableStack,
): Promise<Pick<WelcomeFacts, 'managementUrl' | 'managementKey'>> {
  const { config, managerSocket, functionUrl } = options;
  const manager = buildManager({
    ...options,
    referencedSecrets: NO_REFERENCED_SECRETS,
    trustedProxies: config.trustedProxies,
    isBehindRouter: managerSocket !== undefined,
    awaitOperatorMs: OPERATOR_MS,
  });
  parts.defer(() => manager.stop());
  const started = Promise.withResolvers<undefined>();
  const address = managerSocket ?? { host: config.managementHost, port: config.managementPort };
  // Before it knows the keys it would refuse them all: who calls that early waits a moment.
  const listener: RequestListener = (request, response) =>
    void started.promise.then(() => manager.listener(request, response));
  const listening = await listenManager(listener, address, {
    clock: options.clock,
    trustedProxies: config.trustedProxies,
  });
  parts.defer(() => listening.close());
  // The key of a first start is shown once: so nothing that fails often may come between its making and its showing.
  await options.routerListens;
  const { managementKey } = await ensureFirstStart({ ...options, managementKey: config.managementKey });
  await manager.start();
  started.resolve(undefined);
  const managementUrl = listening.port === undefined ? functionUrl : urlOf(config.managementHost, listening.port);
  return { managementUrl, managementKey };
}
