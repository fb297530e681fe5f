import type { BuildOptions, BuildResult, Message, Metafile } from 'esbuild';
import type { BuildInput } from '@wherry/core/ports/builder.ts';
import type { BuildFailure, BuildOrder } from '../protocol.ts';
import { describeErrors, exportAdvice } from './describe-errors.ts';
import { finishArtifact } from './finish-artifact.ts';
import { isHandlerFile } from './loader-of.ts';
import type { SourceFiles } from './source-files.ts';
import { sourcesPlugin } from './sources-plugin.ts';
import type { Tools } from './tools.ts';
import { languageOptions, withoutComments, type LanguageOptions } from './ts-config.ts';

export type BundleResult = ({ artifact: string } | { failure: BuildFailure }) & { inputs: BuildInput[] };

/**
 * Makes one ES module of a handler and all that it reaches. The same trees give the same bytes.
 * It reads sources through `files` alone and does not throw for what authors can cause.
 */
export async function bundle(order: BuildOrder, files: SourceFiles, tools: Tools): Promise<BundleResult> {
  const outcome = await attempt(order, files, tools);
  return { ...outcome, inputs: files.inputs() };
}

type Outcome = { artifact: string } | { failure: BuildFailure };

async function attempt(order: BuildOrder, files: SourceFiles, tools: Tools): Promise<Outcome> {
  const handler = `${order.source}/${order.path}`;
  const missing = handlerProblem(order, files);
  if (missing !== undefined) return { failure: missing };
  const language = await readLanguage(order.source, files, tools);
  if ('failure' in language) return language;
  try {
    const plugin = sourcesPlugin({ handler, files, tools, language, maxBytes: order.maxBytes });
    const result = await tools.esbuild.build({ ...OPTIONS, ...language, plugins: [plugin] });
    return outcomeOf(handler, result, order.maxBytes);
  } catch (error) {
    const { errors } = error as { errors?: Message[] };
    if (!Array.isArray(errors)) throw error;
    return { failure: describeErrors(errors) };
  }
}

const OPTIONS = {
  entryPoints: ['handler'],
  outfile: '/app/handler.mjs',
  // Never the folder in which the process happens to run: its name would be in messages and in the output.
  absWorkingDir: '/',
  bundle: true,
  write: false,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'silent',
  sourcemap: 'external',
  // With them, esbuild would look for sources of maps on the disk; stack traces do not need them.
  sourcesContent: false,
  define: { __dirname: '"/app"', __filename: '"/app/handler.mjs"' },
  logOverride: {
    'unsupported-dynamic-import': 'error',
    'unsupported-require-call': 'error',
  },
} as const satisfies BuildOptions;

function handlerProblem({ source, path }: BuildOrder, files: SourceFiles): BuildFailure | undefined {
  if (!files.hasSource(source)) {
    return { reason: 'SourceNotFound', message: `There is no source ${source}, or it has no code yet.` };
  }
  if (!files.has(`${source}/${path}`)) {
    const similar = files.otherCase(`${source}/${path}`);
    const hint = similar === undefined ? '' : ` There is ${similar}: upper and lower case count.`;
    return { reason: 'HandlerNotFound', message: `Source ${source} has no file ${path}.${hint}` };
  }
  if (isHandlerFile(path)) return undefined;
  const message = `${source}/${path} cannot be a handler: a handler is a .ts, .tsx, .mts, .js, .jsx, .mjs or .cjs file.`;
  return { reason: 'BuildFailed', message };
}

async function readLanguage(source: string, files: SourceFiles, { esbuild }: Tools): Promise<LanguageOptions | { failure: BuildFailure }> {
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
  const errors = await esbuild.transform(withoutComments(text), json).then(() => [], (error: { errors?: Message[] }) => error.errors ?? []);
  return { failure: { ...describeErrors(errors), reason: 'SyntaxError' } };
}

function outcomeOf(handler: string, result: BuildResult<typeof OPTIONS>, maxBytes: number): Outcome {
  if (exportsNothing(handler, result.metafile)) return { failure: { reason: 'ExportError', message: exportAdvice(handler) } };
  const text = (name: string): string => result.outputFiles.find(({ path }) => path.endsWith(name))?.text ?? '';
  const size = result.outputFiles.reduce((sum, { contents }) => sum + contents.byteLength, 0);
  // The map grows by a third when it goes in; the service checks the exact size.
  const artifact = size > maxBytes ? undefined : finishArtifact(text('.mjs'), text('.mjs.map'));
  if (artifact !== undefined && Buffer.byteLength(artifact) <= maxBytes) return { artifact };
  const message = `The handler and what it imports make more than ${maxBytes} bytes of code. Import less, or fetch large data when it is needed.`;
  return { failure: { reason: 'BuildTooLarge', message } };
}

/** A file without any import or export is a script: its default export would be undefined. */
function exportsNothing(handler: string, metafile: Metafile): boolean {
  return metafile.inputs[`app:${handler}`]?.format === undefined;
}
