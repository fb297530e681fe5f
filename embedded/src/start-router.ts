import { fileURLToPath } from 'node:url';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { EmbeddedConfig } from './config.ts';
import { startRouterProcess, type RouterProcess } from './router-process.ts';

const PROGRAM = fileURLToPath(import.meta.resolve('@wherry/router/main.ts'));

export interface StartRouterOptions {
  config: EmbeddedConfig;
  /** Equal ports: where the manager listens. */
  managerSocket: string | undefined;
  clock: Clock;
  logger: Logger;
}

/** Starts the router with the settings that concern it, and nothing else of this process's environment. */
export function startRouter({ config, managerSocket, clock, logger }: StartRouterOptions): RouterProcess {
  const environment = {
    NODE_ENV: 'production',
    FUNCTION_PORT: String(config.functionPort),
    FUNCTION_HOST: config.functionHost ?? '',
    TRUSTED_PROXIES: config.trustedProxies.join(','),
    WHERRY_LOG_LEVEL: config.logLevel,
    WHERRY_MANAGER_SOCKET: managerSocket ?? '',
  };
  return startRouterProcess({ program: PROGRAM, environment, clock, logger });
}
