import {
  instanceVariable,
  logLevelVariable,
  pathVariable,
  portVariable,
  type LogLevel,
} from '@wherry/service/config-variables.ts';
import { loadConfig } from '@wherry/service/config.ts';
import { z } from 'zod';
import { registryConfig, registryEnvironment, type RegistryConfig } from './packages/registry-config.ts';

const installerSocket = pathVariable.default('/run/wherry-installer/installer.sock');
const common = {
  WHERRY_LOG_LEVEL: logLevelVariable.default('info'),
  WHERRY_INSTANCE: instanceVariable.optional(),
};

/** The variables that the builder reads: `docs/reference/config.md` lists them, with the same defaults. */
export const builderEnvironment = z.object({
  WHERRY_BUILDER_SOCKET: pathVariable.default('/run/wherry/builder.sock'),
  WHERRY_INSTALLER_SOCKET: installerSocket,
  WHERRY_CACHE_DIR: pathVariable.default('/var/cache/wherry'),
  OPS_PORT: portVariable.default(9465),
  ...common,
});

/** The variables of the installer, which is the same program with the argument `installer`. */
export const installerEnvironment = z.object({
  WHERRY_INSTALLER_SOCKET: installerSocket,
  ...registryEnvironment,
  OPS_PORT: portVariable.default(9466),
  ...common,
});

interface CommonConfig {
  logLevel: LogLevel;
  /** Which pod it is, for its log. */
  instance: string | undefined;
  opsPort: number;
}

/** The configuration of the builder as a program. */
export interface BuilderConfig extends CommonConfig {
  socket: string;
  /** Of the installer, which has the registry's packages. */
  installerSocket: string;
  cacheDirectory: string;
}

/** The configuration of the installer as a program. */
export interface InstallerConfig extends CommonConfig {
  socket: string;
  npm: RegistryConfig;
}

/** @throws StartError that names each bad variable. */
export function builderConfig(environment: Record<string, string | undefined> = process.env): BuilderConfig {
  const set = loadConfig(builderEnvironment, environment);
  return {
    socket: set.WHERRY_BUILDER_SOCKET,
    installerSocket: set.WHERRY_INSTALLER_SOCKET,
    cacheDirectory: set.WHERRY_CACHE_DIR,
    ...commonOf(set),
  };
}

/** @throws StartError that names each bad variable. */
export function installerConfig(environment: Record<string, string | undefined> = process.env): InstallerConfig {
  const set = loadConfig(installerEnvironment, environment);
  return {
    socket: set.WHERRY_INSTALLER_SOCKET,
    npm: registryConfig(set),
    ...commonOf(set),
  };
}

const commonOf = (set: {
  WHERRY_LOG_LEVEL: LogLevel;
  WHERRY_INSTANCE?: string | undefined;
  OPS_PORT: number;
}): CommonConfig => ({
  logLevel: set.WHERRY_LOG_LEVEL,
  instance: set.WHERRY_INSTANCE,
  opsPort: set.OPS_PORT,
});
