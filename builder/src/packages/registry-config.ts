import { readFile } from 'node:fs/promises';
import { pathVariable, urlVariable } from '@wherry/service/config-variables.ts';
import { StartError } from '@wherry/service/start-error.ts';
import { z } from 'zod';
import type { RegistrySettings } from './create-package-registry.ts';

/** The variables that say which npm registry to use, and how. */
export const registryEnvironment = {
  WHERRY_NPM_REGISTRY: urlVariable.optional(),
  WHERRY_NPM_TOKEN: z.string().max(4096).optional(),
  WHERRY_NPM_CA_FILE: pathVariable.optional(),
  WHERRY_NPM_PROXY: urlVariable.optional(),
};

/** Where npm packages come from. `caFile` holds certificates (PEM) to trust beside those of the system. */
export interface RegistryConfig extends Omit<RegistrySettings, 'url' | 'ca'> {
  registry: string | undefined;
  caFile: string | undefined;
}

export function registryConfig(set: z.infer<z.ZodObject<typeof registryEnvironment>>): RegistryConfig {
  return {
    registry: set.WHERRY_NPM_REGISTRY,
    token: set.WHERRY_NPM_TOKEN,
    caFile: set.WHERRY_NPM_CA_FILE,
    proxy: set.WHERRY_NPM_PROXY,
  };
}

/** @throws StartError for a file of certificates that cannot be read. */
export async function readRegistryOptions({ registry, caFile, ...rest }: RegistryConfig): Promise<RegistrySettings> {
  if (caFile === undefined) return { url: registry, ...rest };
  try {
    return { url: registry, ca: await readFile(caFile, 'utf8'), ...rest };
  } catch (error) {
    throw new StartError(`WHERRY_NPM_CA_FILE: cannot read ${caFile} (${(error as Error).message})`);
  }
}
