import type { Message } from 'esbuild';
import { locationOf } from './describe-errors.ts';
import type { Detail, PackageAsks } from './failure.ts';
import type { PackageFiles } from './package-files.ts';
import type { SourceSettings } from './source-settings.ts';

/** Whether an error only says that packages are not known yet. */
export const isAsk = (error: Message): boolean => (error.detail as Partial<Detail> | undefined)?.ask !== undefined;

/**
 * Which packages the first pass asked for, by source; undefined when it had other errors too. A source without a
 * package.json and without `npm:` imports asks for none: in its imports there is nothing to look up.
 */
export async function readAsks(
  errors: readonly Message[],
  settingsOf: (source: string) => Promise<SourceSettings>,
): Promise<PackageAsks | undefined> {
  const asks: PackageAsks = {};
  for (const error of errors) {
    const { ask } = (error.detail ?? {}) as Partial<Detail>;
    if (ask === undefined) return undefined;
    const { source, specifier } = ask;
    const settings = await settingsOf(source);
    if (specifier === undefined && !settings.hasManifest) continue;
    const known = (asks[source] ??= []);
    if (specifier === undefined || known.some((one) => one.specifier === specifier)) continue;
    known.push({ specifier, ...(locationOf(error) ?? { file: source, line: 1, column: 1 }) });
  }
  return Object.fromEntries(
    Object.entries(asks).map(([source, asked]) => [source, asked.sort((a, b) => (a.specifier < b.specifier ? -1 : 1))]),
  );
}

/** Has the tarballs come that were asked for by name, side by side: esbuild asks for one import of a file after the other. */
export function fetchAsked(errors: readonly Message[], packages: PackageFiles): void {
  for (const error of errors) {
    const { ask } = (error.detail ?? {}) as Partial<Detail>;
    const folder = ask && packages.find(ask.name, ask.source);
    // What goes wrong is told where it is imported.
    if (folder !== undefined) packages.kindOf(`${folder}/package.json`).catch(() => undefined);
  }
}
