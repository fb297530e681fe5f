import { hostname } from 'node:os';
import {
  functionUrlVariable,
  hostVariable,
  instanceVariable,
  lameDuckSecondsVariable,
  logLevelVariable,
  namespaceVariable,
  pathVariable,
  portVariable,
  releaseNameVariable,
  telemetryMebibytesVariable,
  type LogLevel,
} from '@wherry/service/config-variables.ts';
import { loadConfig } from '@wherry/service/config.ts';
import { trustedProxiesVariable } from '@wherry/service/trusted-networks.ts';
import { z } from 'zod';
import { accountsConfig, accountsEnvironment, type AccountsConfig } from './accounts-config.ts';

/** The variables that the manager reads as a program: `docs/reference/config.md` lists them, with the same defaults. */
export const managerEnvironment = z.object({
  MANAGEMENT_PORT: portVariable.default(9000),
  MANAGEMENT_HOST: hostVariable.optional(),
  WHERRY_INTERNAL_PORT: portVariable.default(9444),
  OPS_PORT: portVariable.default(9464),
  WHERRY_NAMESPACE: namespaceVariable.default('wherry-functions'),
  WHERRY_FUNCTION_URL: functionUrlVariable,
  WHERRY_DATA_DIR: pathVariable.default('/var/lib/wherry'),
  WHERRY_TELEMETRY_MIB: telemetryMebibytesVariable.default(512),
  WHERRY_TLS_DIRECTORY: pathVariable.default('/etc/wherry/tls'),
  WHERRY_SYSTEM_NAMESPACE: namespaceVariable.default('wherry-system'),
  WHERRY_NAME: releaseNameVariable.default('wherry'),
  WHERRY_MANAGEMENT_KEY_FILE: pathVariable.optional(),
  WHERRY_SETUP_TOKEN_FILE: pathVariable.optional(),
  ...accountsEnvironment,
  WHERRY_LAME_DUCK_SECONDS: lameDuckSecondsVariable.default(2),
  WHERRY_LOG_LEVEL: logLevelVariable.default('info'),
  WHERRY_INSTANCE: instanceVariable.optional(),
  TRUSTED_PROXIES: trustedProxiesVariable,
  KUBECONFIG: pathVariable.optional(),
});

/** The configuration of the manager as a program in a cluster. */
export interface ManagerConfig {
  managementPort: number;
  /** Undefined: every interface. */
  managementHost: string | undefined;
  internalPort: number;
  opsPort: number;
  /** Of the objects. */
  namespace: string;
  /** Where callers reach the function port, without a trailing slash. */
  functionUrl: string;
  dataDirectory: string;
  /** Maximum bytes of the log database. */
  telemetryBytes: number;
  tlsDirectory: string;
  /** Of the Secret of the encryption keys and of the lease. */
  systemNamespace: string;
  /** Prefix of their names. */
  name: string;
  managementKeyFile: string | undefined;
  setupTokenFile: string | undefined;
  accounts: AccountsConfig;
  lameDuckMs: number;
  logLevel: LogLevel;
  /** Which pod it is. */
  instance: string;
  trustedProxies: string[];
  /** Undefined: the pod's own service account. */
  kubeconfig: string | undefined;
}

/** @throws StartError that names each bad variable. */
export function managerConfig(environment: Record<string, string | undefined> = process.env): ManagerConfig {
  const set = loadConfig(managerEnvironment, environment);
  return {
    managementPort: set.MANAGEMENT_PORT,
    managementHost: set.MANAGEMENT_HOST,
    internalPort: set.WHERRY_INTERNAL_PORT,
    opsPort: set.OPS_PORT,
    namespace: set.WHERRY_NAMESPACE,
    functionUrl: set.WHERRY_FUNCTION_URL,
    dataDirectory: set.WHERRY_DATA_DIR,
    telemetryBytes: set.WHERRY_TELEMETRY_MIB * 1024 * 1024,
    tlsDirectory: set.WHERRY_TLS_DIRECTORY,
    systemNamespace: set.WHERRY_SYSTEM_NAMESPACE,
    name: set.WHERRY_NAME,
    managementKeyFile: set.WHERRY_MANAGEMENT_KEY_FILE,
    setupTokenFile: set.WHERRY_SETUP_TOKEN_FILE,
    accounts: accountsConfig(set),
    lameDuckMs: set.WHERRY_LAME_DUCK_SECONDS * 1000,
    logLevel: set.WHERRY_LOG_LEVEL,
    instance: set.WHERRY_INSTANCE ?? hostname(),
    trustedProxies: set.TRUSTED_PROXIES,
    kubeconfig: set.KUBECONFIG,
  };
}
