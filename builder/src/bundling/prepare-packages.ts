import type { OnLoadResult } from 'esbuild';
import type { PackageLayout } from '../packages/package-registry.ts';
import type { BuildOrder, WarmPackages } from '../build-process/protocol.ts';
import { bundle } from './bundle.ts';
import { preparedKey, type Preparation, type PreparedPackages, type BundlerTools } from './bundler-tools.ts';
import { sourceFiles } from './source-files.ts';
import type { PluginInput } from './sources-plugin.ts';
import { languageOptions } from './ts-config.ts';

const TOP_FOLDER = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/;

/**
 * Bundles made-up code with each package whose tarball is available, so that an order with the same packages finds them
 * unpacked, read and analyzed.
 * @param tools whose `tarball` rejects for those that are not available.
 */
export function preparePackages(given: WarmPackages, tools: BundlerTools): Preparation {
  // Sources with language options of their own are few: their packages are read again.
  return {
    key: preparedKey(given.layouts, languageOptions(undefined), given.maxBytes),
    ready: prepare(given, tools).catch(() => undefined),
  };
}

async function prepare(
  { layouts, tarballs, maxBytes }: WarmPackages,
  tools: BundlerTools,
): Promise<PreparedPackages | undefined> {
  const [source, layout] = Object.entries(layouts)[0] ?? [];
  if (source === undefined || layout === undefined) return undefined;
  const files = handlerOf(topPackages(layout, tarballs));
  const trees: BuildOrder['trees'] = {
    [source]: Object.fromEntries(
      Object.entries(files).map(([path, content]) => [path, [path, Buffer.byteLength(content)]]),
    ),
  };
  let input: PluginInput | undefined;
  const order: BuildOrder = { type: 'build', source, path: 'warm.js', trees, maxBytes };
  const own: BundlerTools = { ...tools, packages: { ...tools.packages, layouts: () => Promise.resolve(layouts) } };
  await bundle(
    order,
    sourceFiles(trees, async (path) => Buffer.from(files[path] ?? '')),
    own,
    (second) => (input = second),
  );
  return input && { packages: input.packages, loaded: await readable(input.loaded) };
}

function topPackages({ packages }: PackageLayout, tarballs: Record<string, string>): string[] {
  return Object.entries(packages).flatMap(([folder, { integrity }]) => {
    const name = TOP_FOLDER.exec(folder)?.[1];
    return name !== undefined && Object.hasOwn(tarballs, integrity) ? [name] : [];
  });
}

function handlerOf(names: string[]): Record<string, string> {
  const imports = names.map((name, n) => `import * as p${n} from ${JSON.stringify(name)};`);
  return {
    'package.json': JSON.stringify({ dependencies: Object.fromEntries(names.map((name) => [name, '*'])) }),
    'warm.js': `${imports.join('\n')}\nexport default () => [${names.map((_name, n) => `p${n}`).join()}];`,
  };
}

/** The files of packages that could be read; a later request tries the others again. */
async function readable(loaded: PluginInput['loaded']): Promise<PreparedPackages['loaded']> {
  const kept: [string, Promise<OnLoadResult>][] = [];
  for (const [key, result] of loaded) {
    const read = await result.catch(() => undefined);
    if (key.startsWith('["package"') && read?.contents !== undefined) kept.push([key, result]);
  }
  return new Map(kept);
}
