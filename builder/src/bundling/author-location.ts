import type { Message } from 'esbuild';
import type { SourceLocation } from '@wherry/core/ports/builder.ts';
import { fileOf } from './module-kind.ts';
import type { PluginInput } from './sources-plugin.ts';

const PACKAGE = 'package:';

/** For an error in a package's file: the author's import that leads there. Undefined for every other error. */
export async function authorLocation(
  error: Message | undefined,
  { importedBy, files, packages }: PluginInput,
): Promise<SourceLocation | undefined> {
  const place = error?.location?.file ?? '';
  if (!place.startsWith(PACKAGE)) return undefined;
  const seen = new Set<string>();
  let name: string = place.slice(PACKAGE.length);
  let specifier = '';
  while (packages.folderOf(fileOf(name)) !== undefined && !seen.has(name)) {
    seen.add(name);
    const from = importedBy.get(name);
    if (from === undefined) return undefined;
    ({ importer: name, specifier } = from);
  }
  const file = fileOf(name);
  return files.has(file) ? placeIn(file, (await files.read(file)).toString('utf8'), specifier) : undefined;
}

/** Where a specifier first appears in quotes; what JSX imports appears nowhere. */
function placeIn(file: string, code: string, specifier: string): SourceLocation {
  const index = Math.max(0, ...[`'`, `"`, '`'].map((quote) => code.indexOf(quote + specifier + quote)));
  const before = code.slice(0, index).split('\n');
  return { file, line: before.length, column: (before.at(-1) ?? '').length + 1 };
}
