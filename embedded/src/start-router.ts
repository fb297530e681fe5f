import { getCompileCacheDir } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { HeldPort } from '@wherry/service/hold-port.ts';
import type { EmbeddedConfig } from './config.ts';
import { RouterProcess } from './router-process.ts';

const PROGRAM = fileURLToPath(import.meta.resolve('@wherry/router/main.ts'));

interface StartRouterOptions {
  config: EmbeddedConfig;
  /** Where it listens. */
  functions: HeldPort;
  /** Equal ports: where the manager listens. */
  managerSocket: string | undefined;
  /** Where the router shows its metrics to this process. */
  opsSocket: string;
  clock: Clock;
  logger: Logger;
}

/** Starts the router with the settings that concern it, and nothing else of this process's environment. */
export function startRouter(options: StartRouterOptions): RouterProcess {
  const { config, functions, managerSocket, opsSocket, clock, logger } = options;
  const environment = {
    NODE_ENV: 'production',
    FUNCTION_PORT: String(functions.port),
    FUNCTION_HOST: config.functionHost ?? '',
    TRUSTED_PROXIES: config.trustedProxies.join(','),
    WHERRY_LOG_LEVEL: config.logLevel,
    WHERRY_MANAGER_SOCKET: managerSocket ?? '',
    WHERRY_OPS_SOCKET: opsSocket,
    ...compileCache(),
  };
  return new RouterProcess({ program: PROGRAM, environment, sockets: functions.sockets, clock, logger });
}

/** Node caches the router's compiled code where it caches ours, if it does. */
function compileCache(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  // Node puts a folder for its own version and this user below the one that it was given.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(folder) };
}
