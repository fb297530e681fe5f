import { loadConfig } from '@wherry/service/config.ts';
import { z } from 'zod';

const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const path = z.string().max(4096);

const installerSocket = path.default('/run/wherry-installer/installer.sock');
const opsPort = z.coerce
  .number('must be a port number')
  .int('must be a port number')
  .min(0)
  .max(65_535, 'must be at most 65535');
const common = {
  WHERRY_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  WHERRY_INSTANCE: z.string().max(253).optional(),
};

/** The variables that the builder reads: `docs/reference/config.md` lists them, with the same defaults. */
export const builderEnvironment = z.object({
  WHERRY_BUILDER_SOCKET: path.default('/run/wherry/builder.sock'),
  WHERRY_INSTALLER_SOCKET: installerSocket,
  WHERRY_CACHE_DIR: path.default('/var/cache/wherry'),
  OPS_PORT: opsPort.default(9465),
  ...common,
});

/** Those of the installer, which is the same program with the argument `installer`. */
export const installerEnvironment = z.object({
  WHERRY_INSTALLER_SOCKET: installerSocket,
  WHERRY_NPM_REGISTRY: url.optional(),
  WHERRY_NPM_TOKEN: path.optional(),
  WHERRY_NPM_CA_FILE: path.optional(),
  WHERRY_NPM_PROXY: url.optional(),
  OPS_PORT: opsPort.default(9466),
  ...common,
});

interface CommonConfig {
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
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
  /** `caFile` holds certificates (PEM) to trust beside those of the system. */
  npm: {
    registry: string | undefined;
    token: string | undefined;
    caFile: string | undefined;
    proxy: string | undefined;
  };
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
    npm: {
      registry: set.WHERRY_NPM_REGISTRY,
      token: set.WHERRY_NPM_TOKEN,
      caFile: set.WHERRY_NPM_CA_FILE,
      proxy: set.WHERRY_NPM_PROXY,
    },
    ...commonOf(set),
  };
}

const commonOf = (set: {
  WHERRY_LOG_LEVEL: CommonConfig['logLevel'];
  WHERRY_INSTANCE?: string | undefined;
  OPS_PORT: number;
}): CommonConfig => ({
  logLevel: set.WHERRY_LOG_LEVEL,
  instance: set.WHERRY_INSTANCE,
  opsPort: set.OPS_PORT,
});
