import { readFile } from 'node:fs/promises';
import { loadConfig } from '@wherry/service/config.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { z } from 'zod';
import type { RegistryOptions } from './packages/package-room.ts';

const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const path = z.string().max(4096);

/** The variables that the builder reads: `docs/reference/config.md` lists them, with the same defaults. */
export const builderEnvironment = z.object({
  WHERRY_BUILDER_SOCKET: path.default('/run/wherry/builder.sock'),
  WHERRY_CACHE_DIR: path.default('/var/cache/wherry'),
  WHERRY_NPM_REGISTRY: url.default('https://registry.npmjs.org/'),
  WHERRY_NPM_TOKEN: path.optional(),
  WHERRY_NPM_CA_FILE: path.optional(),
  WHERRY_NPM_PROXY: url.optional(),
  WHERRY_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  WHERRY_INSTANCE: z.string().max(253).optional(),
  OPS_PORT: z.coerce.number('must be a port number').int('must be a port number').min(0).max(65_535, 'must be at most 65535').default(9465),
});

/** The configuration of the builder as a program. */
export interface BuilderConfig {
  socket: string;
  cacheDirectory: string;
  /** `caFile` holds certificates (PEM) to trust beside those of the system. */
  npm: { registry: string; token: string | undefined; caFile: string | undefined; proxy: string | undefined };
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Which pod it is, for its log. */
  instance: string | undefined;
  opsPort: number;
}

/** @throws StartError that names each bad variable. */
export function builderConfig(environment: Record<string, string | undefined> = process.env): BuilderConfig {
  const set = loadConfig(builderEnvironment, environment);
  return {
    socket: set.WHERRY_BUILDER_SOCKET,
    cacheDirectory: set.WHERRY_CACHE_DIR,
    npm: { registry: set.WHERRY_NPM_REGISTRY, token: set.WHERRY_NPM_TOKEN, caFile: set.WHERRY_NPM_CA_FILE, proxy: set.WHERRY_NPM_PROXY },
    logLevel: set.WHERRY_LOG_LEVEL,
    instance: set.WHERRY_INSTANCE,
    opsPort: set.OPS_PORT,
  };
}

/** @throws StartError for a file of certificates that cannot be read. */
export async function registryOf({ registry, caFile, ...rest }: BuilderConfig['npm']): Promise<RegistryOptions> {
  if (caFile === undefined) return { url: registry, ...rest };
  try {
    return { url: registry, ca: await readFile(caFile, 'utf8'), ...rest };
  } catch (error) {
    throw new StartError(`WHERRY_NPM_CA_FILE: cannot read ${caFile} (${(error as Error).message})`);
  }
}
