import type { Spec } from 'npm-package-arg';
import type { Manifests } from './manifests.ts';

/**
 * Takes the place of the package of this name in Arborist, which calls it for manifests, and here for nothing else.
 * The real one would also run git, read files and fetch any URL.
 */
export async function manifest(spec: Spec, options: { manifests: Manifests }): Promise<object> {
  return options.manifests(spec);
}
