import type { Message } from 'esbuild';
import type { BuildInput } from '@wherry/core/ports/builder.ts';
import type { LockedPackage, PackageLayout } from '../packages/package-registry.ts';
import { TarballError, unpackTarball } from '../packages/unpack-tarball.ts';
import type { BuildFailureReport, BuildOrder } from '../build-process/protocol.ts';
import { authorLocation } from './author-location.ts';
import { describeErrors } from './describe-errors.ts';
import { BuildProblem } from './build-problem.ts';
import { isHandlerFile } from './loader-of.ts';
import { fetchRequired, isRequirement, collectRequirements } from './package-requirements.ts';
import { packageFiles } from './package-files.ts';
import { packageResolver } from './package-resolver.ts';
import { preparedKey, type BundlerTools } from './bundler-tools.ts';
import { runBundlePass } from './bundle-pass.ts';
import type { SourceFiles } from './source-files.ts';
import { sourceSettings } from './source-settings.ts';
import type { PluginInput } from './sources-plugin.ts';
import { languageOptions, withoutComments, type LanguageOptions } from './ts-config.ts';
import { virtualDisk } from './virtual-disk.ts';

export type BundleResult = Outcome & { inputs: BuildInput[] };
type Outcome = { artifact: string } | { failure: BuildFailureReport };

/**
 * Makes one ES module of a handler and all that it reaches. The same trees and locks give the same bytes.
 * It reads sources through `files` and packages through `tools` alone, and does not throw for what authors can cause.
 * @param onPackages receives what packages are read with, before the first of them is.
 */
export async function bundle(
  order: BuildOrder,
  files: SourceFiles,
  tools: BundlerTools,
  onPackages?: (input: PluginInput) => void,
): Promise<BundleResult> {
  const input = await inputOf(order, files, tools);
  const outcome = 'failure' in input ? input : await attempt(input, onPackages);
  return { ...outcome, inputs: files.inputs() };
}

async function inputOf(
  order: BuildOrder,
  files: SourceFiles,
  tools: BundlerTools,
): Promise<PluginInput | { failure: BuildFailureReport }> {
  const missing = handlerProblem(order, files);
  if (missing !== undefined) return { failure: missing };
  const language = await readLanguage(order.source, files, tools);
  return 'failure' in language ? language : makeInput(order, files, { tools, language });
}

async function attempt(input: PluginInput, onPackages?: (input: PluginInput) => void): Promise<Outcome> {
  const { tools } = input;
  // The first pass finds out which packages are required; where there are none, it is the last one.
  const first = await runBundlePass(input);
  if (!('errors' in first)) return first;
  const requirements = await collectRequirements(first.errors, input.settingsOf);
  // Other errors do not depend on packages.
  if (requirements === undefined)
    return { failure: describeErrors(first.errors.filter((error) => !isRequirement(error))) };
  const layouts = Object.keys(requirements).length === 0 ? {} : await tools.packages.layouts(requirements);
  const second = await withPackages(input, layouts);
  onPackages?.(second);
  fetchRequired(first.errors, second.packages);
  const outcome = await runBundlePass(second);
  return 'errors' in outcome ? { failure: await described(outcome.errors, second) } : outcome;
}

async function unpack(
  { name, version, integrity }: LockedPackage,
  { packages }: BundlerTools,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const bytes = await packages.tarball(integrity);
  try {
    return await unpackTarball(bytes);
  } catch (error) {
    if (error instanceof TarballError)
      throw new BuildProblem(
        error.isTooLarge ? 'PackageTooLarge' : 'PackageCorrupt',
        `The package ${name} ${version} cannot be used: ${error.message}.`,
      );
    throw error;
  }
}

function makeInput(
  order: BuildOrder,
  files: SourceFiles,
  { tools, language }: { tools: BundlerTools; language: LanguageOptions },
): PluginInput {
  const none = packageFiles({}, () => Promise.reject(new Error('no package is known')));
  return {
    handler: `${order.source}/${order.path}`,
    files,
    tools,
    language,
    maxBytes: order.maxBytes,
    settingsOf: sourceSettings(files),
    packages: none,
    packagesKnown: false,
    resolver: packageResolver(virtualDisk(files, none)),
    loaded: new Map(),
    importedBy: new Map(),
  };
}

async function withPackages(input: PluginInput, layouts: Record<string, PackageLayout>): Promise<PluginInput> {
  const { files, tools, language, maxBytes } = input;
  const isPrepared = tools.prepared?.key === preparedKey(layouts, language, maxBytes);
  // If it is running already, it finishes sooner than the same work started again.
  const prepared = isPrepared ? await tools.prepared?.ready : undefined;
  const packages = prepared?.packages ?? packageFiles(layouts, (locked) => unpack(locked, tools));
  const loaded = new Map([...input.loaded, ...(prepared?.loaded ?? [])]);
  return { ...input, packages, loaded, packagesKnown: true, resolver: packageResolver(virtualDisk(files, packages)) };
}

/** An error in a package is reported at the import of the author's that leads to it. */
async function described(errors: readonly Message[], input: PluginInput): Promise<BuildFailureReport> {
  const failure = describeErrors(errors);
  const place = await authorLocation(errors[0], input);
  return place === undefined
    ? failure
    : { ...failure, location: place, message: `${place.file}:${place.line}:${place.column}: ${failure.message}` };
}

function handlerProblem({ source, path }: BuildOrder, files: SourceFiles): BuildFailureReport | undefined {
  if (!files.hasSource(source)) {
    return { reason: 'SourceNotFound', message: `There is no source ${source}, or it has no code yet.` };
  }
  if (!files.has(`${source}/${path}`)) {
    const similar = files.otherCase(`${source}/${path}`);
    const hint =
      similar === undefined ? ': add it, or change the handler.' : `. There is ${similar}: names are case-sensitive.`;
    return { reason: 'HandlerNotFound', message: `Source ${source} has no file ${path}${hint}` };
  }
  if (isHandlerFile(path)) return undefined;
  const message = `${source}/${path} cannot be a handler: a handler is a .ts, .tsx, .mts, .js, .jsx, .mjs or .cjs file.`;
  return { reason: 'BuildFailed', message };
}

async function readLanguage(
  source: string,
  files: SourceFiles,
  { esbuild }: BundlerTools,
): Promise<LanguageOptions | { failure: BuildFailureReport }> {
  const file = `${source}/tsconfig.json`;
  if (!files.has(file)) return languageOptions(undefined);
  const text = (await files.read(file)).toString('utf8');
  try {
    return languageOptions(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  // Node does not say where; esbuild does.
  const json = { loader: 'json', sourcefile: `app:${file}`, logLevel: 'silent' } as const;
  const errors = await esbuild.transform(withoutComments(text), json).then(
    () => [],
    (error: { errors?: Message[] }) => error.errors ?? [],
  );
  return { failure: { ...describeErrors(errors), reason: 'SyntaxError' } };
}
