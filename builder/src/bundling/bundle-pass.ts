import type { BuildOptions, BuildResult, Message, Metafile } from 'esbuild';
import type { BuildFailureReport } from '../build-process/protocol.ts';
import { exportAdvice } from './describe-errors.ts';
import { fileOf } from './module-kind.ts';
import { sourcesPlugin, type PluginInput } from './sources-plugin.ts';

/** The result of one run of esbuild. */
type PassOutcome = { artifact: string } | { failure: BuildFailureReport } | { errors: Message[] };

const OPTIONS = {
  entryPoints: ['handler'],
  outfile: '/app/handler.mjs',
  // Never the working folder of the process: its name would appear in messages and in the output.
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
  logLimit: 0,
  sourcemap: 'external',
  // With them, esbuild would look for sources of maps on the disk; stack traces do not need them.
  sourcesContent: false,
  define: { __dirname: '"/app"', __filename: '"/app/handler.mjs"', 'process.env.NODE_ENV': '"production"' },
} as const satisfies BuildOptions;

/** Bundles the handler once, with the packages that are known. */
export async function runBundlePass(input: PluginInput): Promise<PassOutcome> {
  try {
    const result = await input.tools.esbuild.build({ ...OPTIONS, ...input.language, plugins: [sourcesPlugin(input)] });
    input.tools.release?.();
    return outcomeOf(input.handler, result, input.maxBytes);
  } catch (error) {
    const { errors } = error as { errors?: Message[] };
    if (!Array.isArray(errors)) throw error;
    return { errors };
  }
}

function outcomeOf(handler: string, result: BuildResult<typeof OPTIONS>, maxBytes: number): PassOutcome {
  if (exportsNothing(handler, result.metafile))
    return { failure: { reason: 'ExportError', message: exportAdvice(handler) } };
  const text = (name: string): string => result.outputFiles.find(({ path }) => path.endsWith(name))?.text ?? '';
  const size = result.outputFiles.reduce((sum, { contents }) => sum + contents.byteLength, 0);
  // The map grows by a third when it is inlined; the service checks the exact size.
  const artifact = size > maxBytes ? undefined : finishArtifact(text('.mjs'), text('.mjs.map'));
  if (artifact !== undefined && Buffer.byteLength(artifact) <= maxBytes) return { artifact };
  const message = `The handler and what it imports amount to more than ${maxBytes} bytes of code. Import less, or fetch large data when it is needed.`;
  return { failure: { reason: 'BuildTooLarge', message } };
}

/** A file without any import or export is a script: its default export would be undefined. */
function exportsNothing(handler: string, { inputs }: Metafile): boolean {
  const name = Object.keys(inputs).find((input) => fileOf(input) === `app:${handler}`);
  return name === undefined || inputs[name]?.format === undefined;
}

/** `require` of Node's own modules, which an ES module does not have by itself. */
const REQUIRE =
  'import{createRequire as __wherryCreateRequire}from"node:module";const require=__wherryCreateRequire(import.meta.url);';

/**
 * The artifact's text: esbuild's module, and its source map inline, whose sources are relative to the artifact
 * (`<source>/<path>`), so that stack traces name them below `/app`.
 */
function finishArtifact(code: string, mapText: string): string {
  const map = JSON.parse(mapText) as { sources: string[] };
  map.sources = map.sources.map(sourceUrl);
  const base64 = Buffer.from(JSON.stringify(map)).toString('base64');
  // On the first line, which holds no code of the author's: the map stays right.
  const start = /\brequire\b/.test(code) ? REQUIRE : '';
  return `${start}${code}//# sourceMappingURL=data:application/json;base64,${base64}\n`;
}

const sourceUrl = (source: string): string =>
  fileOf(source.replace(/^(?:app|package):/, ''))
    .split('/')
    .map(encodeURIComponent)
    .join('/');
