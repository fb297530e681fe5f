import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { startService, type Service } from '../testing/embedded-service.ts';

/** Kept between runs of the tests on one machine, so that each package is fetched once. */
const PACKAGES = path.join(homedir(), '.cache/wherry-test/packages');

/**
 * A service that takes npm packages from the registry which the machine's npm is configured to use, and keeps them.
 */
export async function startPackageService(): Promise<Service> {
  const dataDirectory = await mkdtemp(path.join(tmpdir(), 'wherry-e2e-'));
  await mkdir(PACKAGES, { recursive: true });
  await mkdir(path.join(dataDirectory, 'cache'));
  await symlink(PACKAGES, path.join(dataDirectory, 'cache/packages'));
  const registry = process.env['npm_config_registry'];
  const service = await startService({
    dataDirectory,
    environment: registry === undefined ? {} : { WHERRY_NPM_REGISTRY: registry },
  });
  return {
    ...service,
    async dispose() {
      await service.stop();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
}
