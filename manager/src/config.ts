import { loadConfig } from '@wherry/service/config.ts';
import { trustedProxiesVariable } from '@wherry/service/trusted-networks.ts';
import { z } from 'zod';

const port = z.coerce
  .number('must be a port number')
  .int('must be a port number')
  .min(0)
  .max(65_535, 'must be at most 65535');
const path = z.string().max(4096);
const namespace = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be the name of a namespace');

/** The variables that the manager reads as a program: `docs/reference/config.md` lists them, with the same defaults. */
export const managerEnvironment = z.object({
  MANAGEMENT_PORT: port.default(9000),
  MANAGEMENT_HOST: z.string().max(255).optional(),
  WHERRY_INTERNAL_PORT: port.default(9444),
  OPS_PORT: port.default(9464),
  WHERRY_NAMESPACE: namespace.default('wherry-functions'),
  WHERRY_FUNCTION_URL: z.url({
    protocol: /^https?$/,
    error: 'must be the http or https URL where callers reach functions',
  }),
  WHERRY_DATA_DIR: path.default('/var/lib/wherry'),
  WHERRY_TELEMETRY_MIB: z.coerce
    .number('must be a number of MiB')
    .min(16, 'must be at least 16')
    .max(1_048_576)
    .default(512),
  WHERRY_TLS_DIRECTORY: path.default('/etc/wherry/tls'),
  WHERRY_KEYS_DIRECTORY: path.default('/etc/wherry/keys'),
  WHERRY_MANAGEMENT_KEY_FILE: path.optional(),
  WHERRY_LAME_DUCK_SECONDS: z.coerce.number('must be a number of seconds').min(0).max(600).default(2),
  WHERRY_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  WHERRY_INSTANCE: z.string().max(253).optional(),
  TRUSTED_PROXIES: trustedProxiesVariable,
  KUBECONFIG: path.optional(),
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
  /** Bytes of the log database at most. */
  telemetryBytes: number;
  tlsDirectory: string;
  keysDirectory: string;
  managementKeyFile: string | undefined;
  lameDuckMs: number;
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Which pod it is, for its log. */
  instance: string | undefined;
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
    functionUrl: set.WHERRY_FUNCTION_URL.replace(/\/+$/, ''),
    dataDirectory: set.WHERRY_DATA_DIR,
    telemetryBytes: set.WHERRY_TELEMETRY_MIB * 1024 * 1024,
    tlsDirectory: set.WHERRY_TLS_DIRECTORY,
    keysDirectory: set.WHERRY_KEYS_DIRECTORY,
    managementKeyFile: set.WHERRY_MANAGEMENT_KEY_FILE,
    lameDuckMs: set.WHERRY_LAME_DUCK_SECONDS * 1000,
    logLevel: set.WHERRY_LOG_LEVEL,
    instance: set.WHERRY_INSTANCE,
    trustedProxies: set.TRUSTED_PROXIES,
    kubeconfig: set.KUBECONFIG,
  };
}
