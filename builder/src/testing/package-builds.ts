import { bundleFiles } from './bundle-files.ts';
import type { FakePackageRegistry, Packages } from './fake-package-registry.ts';
import { runArtifact } from './run-artifact.ts';

/** A manifest that lists both packages that the tests import without `npm:`. */
export const MANIFEST = { 'package.json': JSON.stringify({ dependencies: { a: '1', '@s/b': '1' } }) };
/** The package `a`. */
export const A = { 'node_modules/a': { 'index.js': "module.exports = 'a';", 'sub.js': "exports.sub = 'a/sub';" } };

/** The artifact of a handler in the source `api`. @throws Error with the message of a build that fails */
export async function artifactOf(files: Record<string, string>, packages: Packages, handler = 'h.ts'): Promise<string> {
  const result = await bundleFiles(`api/${handler}`, { api: files }, packages);
  if ('failure' in result) throw new Error(result.failure.message);
  return result.artifact;
}

/** What the handler returns. @throws Error with the stack where it throws */
export async function run(...[files, packages, handler]: Parameters<typeof artifactOf>): Promise<unknown> {
  const { value: returned, stack } = runArtifact(await artifactOf(files, packages, handler));
  if (stack !== undefined) throw new Error(stack);
  return returned;
}

/** What a handler of one line returns. */
export const value = (line: string, packages: Packages, more: Record<string, string> = {}): Promise<unknown> =>
  run({ 'h.ts': line, ...more }, packages);

/** Why a handler in the source `api` is not built. @throws Error when it is */
export async function failureOf(
  files: Record<string, string>,
  packages: Packages | FakePackageRegistry = {},
  handler = 'h.ts',
): Promise<object> {
  const result = await bundleFiles(`api/${handler}`, { api: files }, packages);
  if ('artifact' in result) throw new Error('it was built');
  return result.failure;
}
