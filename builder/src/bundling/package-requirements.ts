import type { Message } from 'esbuild';
import { locationOf } from './describe-errors.ts';
import type { Detail, PackageRequirements } from './build-problem.ts';
import type { PackageFiles } from './package-files.ts';
import type { SourceSettings } from './source-settings.ts';

/** Whether an error only says that packages are not known yet. */
export const isRequirement = (error: Message): boolean =>
  (error.detail as Partial<Detail> | undefined)?.requirement !== undefined;

/**
 * Which packages the first pass found required, by source; undefined when it had other errors too. A source without a
 * package.json and without `npm:` imports requires none: in its imports there is nothing to look up.
 */
export async function collectRequirements(
  errors: readonly Message[],
  settingsOf: (source: string) => Promise<SourceSettings>,
): Promise<PackageRequirements | undefined> {
  const requirements: PackageRequirements = {};
  for (const error of errors) {
    const { requirement } = (error.detail ?? {}) as Partial<Detail>;
    if (requirement === undefined) return undefined;
    const { source, specifier } = requirement;
    const settings = await settingsOf(source);
    if (specifier === undefined && !settings.hasManifest) continue;
    const known = (requirements[source] ??= []);
    if (specifier === undefined || known.some((one) => one.specifier === specifier)) continue;
    known.push({ specifier, ...(locationOf(error) ?? { file: source, line: 1, column: 1 }) });
  }
  return Object.fromEntries(
    Object.entries(requirements).map(([source, specifiers]) => [
      source,
      specifiers.sort((a, b) => (a.specifier < b.specifier ? -1 : 1)),
    ]),
  );
}

/**
 * Fetches the tarballs that are imported by name, side by side: esbuild resolves one import of a file after the other.
 */
export function fetchRequired(errors: readonly Message[], packages: PackageFiles): void {
  for (const error of errors) {
    const { requirement } = (error.detail ?? {}) as Partial<Detail>;
    const folder = requirement && packages.find(requirement.name, requirement.source);
    // An error is reported where it is imported.
    if (folder !== undefined) packages.kindOf(`${folder}/package.json`).catch(() => undefined);
  }
}
