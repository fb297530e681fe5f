import { loadConfig } from '@wherry/service/config.ts';
import { trustedProxiesVariable } from '@wherry/service/trusted-networks.ts';
import { z } from 'zod';

const port = z.coerce
  .number('must be a port number')
  .int('must be a port number')
  .min(0)
  .max(65_535, 'must be at most 65535');

/** The variables that the service reads: `docs/reference/config.md` lists them, with the same defaults. */
export const embeddedEnvironment = z.object({
  FUNCTION_PORT: port.default(8000),
  MANAGEMENT_PORT: port.default(9000),
  OPS_PORT: port.default(9464),
  FUNCTION_HOST: z.string().max(255).optional(),
  MANAGEMENT_HOST: z.string().max(255).default('127.0.0.1'),
  WHERRY_DATA_DIR: z.string().max(4096).default('./data'),
  WHERRY_TELEMETRY_MIB: z.coerce
    .number('must be a number of MiB')
    .min(16, 'must be at least 16')
    .max(1_048_576)
    .default(512),
  WHERRY_PUBLIC_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  WHERRY_MANAGEMENT_KEY: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{16,256}$/, 'must be 16 to 256 letters, digits, dashes and underscores')
    .optional(),
  WHERRY_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('warn'),
  WHERRY_NPM_REGISTRY: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  WHERRY_NPM_TOKEN: z.string().max(4096).optional(),
  WHERRY_NPM_CA_FILE: z.string().max(4096).optional(),
  WHERRY_NPM_PROXY: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
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
  /** Bytes of the log database at most. */
  telemetryBytes: number;
  /** Where callers reach the function port, without a trailing slash; undefined: on this machine. */
  publicUrl: string | undefined;
  managementKey: string | undefined;
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Where npm packages come from. `caFile` holds certificates (PEM) to trust beside those of the system. */
  npm: {
    registry: string | undefined;
    token: string | undefined;
    caFile: string | undefined;
    proxy: string | undefined;
  };
  /** Networks whose X-Forwarded-* router and manager believe. */
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
    logLevel: set.WHERRY_LOG_LEVEL,
    npm: {
      registry: set.WHERRY_NPM_REGISTRY,
      token: set.WHERRY_NPM_TOKEN,
      caFile: set.WHERRY_NPM_CA_FILE,
      proxy: set.WHERRY_NPM_PROXY,
    },
    trustedProxies: set.TRUSTED_PROXIES,
  };
}
