import type { OnLoadResult } from 'esbuild';
import { computedImports, withoutModuleRequire, fileSourceMap, mayComputeImports } from './unsafe-code.ts';
import { COMPUTED_ADVICE } from './describe-errors.ts';
import { refusal } from './build-problem.ts';
import { runtimeFileRead } from './runtime-file-reads.ts';
import { isCode, loaderOf } from './loader-of.ts';
import type { SourceFiles } from './source-files.ts';
import type { BundlerTools } from './bundler-tools.ts';
import type { LanguageOptions } from './ts-config.ts';

export interface LoadContext {
  files: SourceFiles;
  tools: BundlerTools;
  language: LanguageOptions;
  /** Bytes of a single file. */
  maxBytes: number;
}

const SOURCE_MAP = 'A source map cannot be read from a file. Remove this comment, or inline the map as a data: URL.';

/** An author's file. What it may not do is an error at that place. */
export async function loadSourceFile(
  path: string,
  attributes: Record<string, string>,
  context: LoadContext,
): Promise<OnLoadResult> {
  const kind = loaderOf(path, attributes);
  if ('problem' in kind) throw new Error(kind.problem);
  if (context.files.sizeOf(path) > context.maxBytes) return tooLarge(path, context.maxBytes);
  const bytes = await context.files.read(path);
  if (!isCode(kind.loader)) return { contents: bytes, loader: kind.loader };
  const code = bytes.toString('utf8');
  const errors = await unsupported({ path, code, loader: kind.loader }, context);
  return errors.length > 0 ? { errors } : { contents: code, loader: kind.loader };
}

export const tooLarge = (path: string, maxBytes: number): OnLoadResult => ({
  errors: [refusal('BuildTooLarge', `${path} is larger than ${maxBytes} bytes. Fetch large data when it is needed.`)],
});

type Code = Parameters<typeof computedImports>[0];

/** Code that would make esbuild read the disk by itself, or make the function look for files that it will not have. */
async function unsupported(file: Code, { tools, language }: LoadContext): Promise<NonNullable<OnLoadResult['errors']>> {
  const map = fileSourceMap(file.code);
  const found = map === null ? runtimeFileRead(file.code) : { index: map.index, text: SOURCE_MAP };
  if (found !== undefined)
    return [{ ...refusal('ImportNotSupported', found.text), location: placeOf(file, found.index) }];
  if (!mayComputeImports(file.code)) return [];
  if ((await withoutModuleRequire(file, tools.esbuild)) === undefined)
    return computedImports(file, tools.esbuild, language);
  return [
    {
      ...refusal('ImportNotSupported', `${COMPUTED_ADVICE}.`),
      location: placeOf(file, file.code.search(/\bmodule\b(?!\.exports)|$/)),
    },
  ];
}

function placeOf(
  { path, code }: Code,
  index: number,
): { file: string; line: number; column: number; lineText: string } {
  const before = code.slice(0, index).split('\n');
  const start = before.at(-1) ?? '';
  const lineText = start + (code.slice(index).split('\n')[0] ?? '');
  return { file: `app:${path}`, line: before.length, column: Buffer.byteLength(start), lineText };
}
