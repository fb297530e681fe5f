import { registryConfig, registryEnvironment, type RegistryConfig } from '@wherry/builder/packages/registry-config.ts';
import { accountsConfig, accountsEnvironment, type AccountsConfig } from '@wherry/manager/accounts-config.ts';
import {
  hostVariable,
  logLevelVariable,
  pathVariable,
  portVariable,
  telemetryMebibytesVariable,
  urlVariable,
  type LogLevel,
} from '@wherry/service/config-variables.ts';
import { loadConfig } from '@wherry/service/config.ts';
import { trustedProxiesVariable } from '@wherry/service/trusted-networks.ts';
import { z } from 'zod';

/** The variables that the service reads: `docs/reference/config.md` lists them, with the same defaults. */
export const embeddedEnvironment = z.object({
  FUNCTION_PORT: portVariable.default(8000),
  MANAGEMENT_PORT: portVariable.default(9000),
  OPS_PORT: portVariable.default(9464),
  FUNCTION_HOST: hostVariable.optional(),
  MANAGEMENT_HOST: hostVariable.default('127.0.0.1'),
  WHERRY_DATA_DIR: pathVariable.default('./data'),
  WHERRY_TELEMETRY_MIB: telemetryMebibytesVariable.default(512),
  WHERRY_PUBLIC_URL: urlVariable.optional(),
  WHERRY_MANAGEMENT_KEY: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{16,256}$/, 'must be 16 to 256 letters, digits, dashes and underscores')
    .optional(),
  ...accountsEnvironment,
  WHERRY_LOG_LEVEL: logLevelVariable.default('warn'),
  ...registryEnvironment,
  TRUSTED_PROXIES: trustedProxiesVariable,
});

/** The configuration of the one-machine service. */
export interface EmbeddedConfig {
  functionPort: number;
  managementPort: number;
  /** Of metrics and health, on loopback. */
  opsPort: number;
  /** Undefined: every interface. */
  functionHost: string | undefined;
  managementHost: string;
  dataDirectory: string;
  /** Maximum bytes of the log database. */
  telemetryBytes: number;
  /** Where callers reach the function port, without a trailing slash; undefined: on this machine. */
  publicUrl: string | undefined;
  managementKey: string | undefined;
  accounts: AccountsConfig;
  logLevel: LogLevel;
  npm: RegistryConfig;
  /** Networks whose X-Forwarded-* headers router and manager trust. */
  trustedProxies: string[];
}

/** @throws StartError that names each bad variable. */
export function embeddedConfig(environment: Record<string, string | undefined> = process.env): EmbeddedConfig {
  const set = loadConfig(embeddedEnvironment, environment);
  return {
    functionPort: set.FUNCTION_PORT,
    managementPort: set.MANAGEMENT_PORT,
    opsPort: set.OPS_PORT,
    functionHost: set.FUNCTION_HOST,
    managementHost: set.MANAGEMENT_HOST,
    dataDirectory: set.WHERRY_DATA_DIR,
    telemetryBytes: set.WHERRY_TELEMETRY_MIB * 1024 * 1024,
    publicUrl: set.WHERRY_PUBLIC_URL?.replace(/\/+$/, ''),
    managementKey: set.WHERRY_MANAGEMENT_KEY,
    accounts: accountsConfig(set),
    logLevel: set.WHERRY_LOG_LEVEL,
    npm: registryConfig(set),
    trustedProxies: set.TRUSTED_PROXIES,
  };
}
