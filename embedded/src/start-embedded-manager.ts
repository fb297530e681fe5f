import { buildManager } from '@wherry/manager/build-manager.ts';
import { exposeDisk } from '@wherry/manager/program/disk-metrics.ts';
import { ensureFirstStart } from '@wherry/manager/first-start/ensure-first-start.ts';
import { generateSetupToken } from '@wherry/core/crypto/setup-token.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { NO_REFERENCED_SECRETS } from '@wherry/core/ports/referenced-secrets.ts';
import type { Metrics } from '@wherry/core/ports/metrics.ts';
import type { EmbeddedConfig } from './config.ts';
import type { ManagementListener } from './listen-manager.ts';
import type { Stores } from './open-stores.ts';
import { urlOf, type WelcomeFacts } from './welcome.ts';

/**
 * An answer waits this long for the operator, which needs a few milliseconds, so that whoever created a function can
 * call it at once.
 */
const OPERATOR_MS = 500;

interface StartEmbeddedManagerOptions extends Stores {
  config: EmbeddedConfig;
  functionUrl: string;
  listener: ManagementListener;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/**
 * Builds the manager, does what a first start does, and serves.
 */
export async function startEmbeddedManager(
  options: StartEmbeddedManagerOptions,
  parts: AsyncDisposableStack,
): Promise<Pick<WelcomeFacts, 'managementUrl' | 'managementKey' | 'setupToken'>> {
  const { config, listener, functionUrl, users } = options;
  const setupToken = generateSetupToken();
  exposeDisk(options.metrics, config.dataDirectory);
  const manager = buildManager({
    ...options,
    referencedSecrets: NO_REFERENCED_SECRETS,
    trustedProxies: config.trustedProxies,
    setupToken,
    ...config.accounts,
    isBehindRouter: listener.port === undefined,
    awaitOperatorMs: OPERATOR_MS,
  });
  parts.defer(() => manager.stop());
  parts.defer(() => listener.drain());
  parts.defer(() => manager.endStreams());
  // The key of a first start is shown once, so nothing that is likely to fail may happen between creating and showing
  // it.
  const { managementKey } = await ensureFirstStart({ ...options, managementKey: config.managementKey });
  await manager.start();
  // Before it knew the keys it would have refused them all, so early callers have waited.
  listener.serve(manager.listener);
  const managementUrl = listener.port === undefined ? functionUrl : urlOf(config.managementHost, listener.port);
  return { managementUrl, managementKey, setupToken: users.users().length === 0 ? setupToken : undefined };
}
