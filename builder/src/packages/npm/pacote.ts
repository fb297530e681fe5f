import type { Spec } from 'npm-package-arg';
import type { Manifests } from './manifests.ts';

/**
 * Replaces the package of this name in Arborist, which calls it only for manifests here. The real one would also run
 * git, read files and fetch any URL.
 */
export async function manifest(spec: Spec, options: { manifests: Manifests }): Promise<object> {
  return options.manifests(spec);
}
