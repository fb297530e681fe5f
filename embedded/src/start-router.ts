import { getCompileCacheDir } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { EmbeddedConfig } from './config.ts';
import { startRouterProcess, type RouterProcess } from './router-process.ts';

const PROGRAM = fileURLToPath(import.meta.resolve('@wherry/router/main.ts'));

interface StartRouterOptions {
  config: EmbeddedConfig;
  /** Equal ports: where the manager listens. */
  managerSocket: string | undefined;
  /** Where the router shows its metrics to this process. */
  opsSocket: string;
  clock: Clock;
  logger: Logger;
}

/** Starts the router with the settings that concern it, and nothing else of this process's environment. */
export function startRouter({ config, managerSocket, opsSocket, clock, logger }: StartRouterOptions): RouterProcess {
  const environment = {
    NODE_ENV: 'production',
    FUNCTION_PORT: String(config.functionPort),
    FUNCTION_HOST: config.functionHost ?? '',
    TRUSTED_PROXIES: config.trustedProxies.join(','),
    WHERRY_LOG_LEVEL: config.logLevel,
    WHERRY_MANAGER_SOCKET: managerSocket ?? '',
    WHERRY_OPS_SOCKET: opsSocket,
    ...compileCache(),
  };
  return startRouterProcess({ program: PROGRAM, environment, clock, logger });
}

/** Node keeps the router's compiled code where it keeps ours; nowhere, when it keeps none. */
function compileCache(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  // Node puts a folder for its own version and this user below the one that it was given.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(folder) };
}
