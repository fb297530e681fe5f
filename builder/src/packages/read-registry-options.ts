import { readFile } from 'node:fs/promises';
import { StartError } from '@wherry/service/start-error.ts';
import type { RegistrySettings } from './create-package-registry.ts';

/** A registry as the environment names it: certificates are in a file. */
interface RegistryVariables extends Omit<RegistrySettings, 'url' | 'ca'> {
  registry: string | undefined;
  caFile: string | undefined;
}

/** @throws StartError for a file of certificates that cannot be read. */
export async function readRegistryOptions({ registry, caFile, ...rest }: RegistryVariables): Promise<RegistrySettings> {
  if (caFile === undefined) return { url: registry, ...rest };
  try {
    return { url: registry, ca: await readFile(caFile, 'utf8'), ...rest };
  } catch (error) {
    throw new StartError(`WHERRY_NPM_CA_FILE: cannot read ${caFile} (${(error as Error).message})`);
  }
}
