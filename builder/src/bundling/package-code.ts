import type * as Esbuild from 'esbuild';
import type { Loader, PartialMessage } from 'esbuild';
import { computedImports, withoutModuleRequire, mayComputeImports } from './unsafe-code.ts';
import type { LanguageOptions } from './ts-config.ts';

/**
 * A package's code, made such that esbuild opens no file of the disk for it (B2): names of source maps are taken away,
 * and calls of `import()` and `require()` with a computed path become calls that esbuild leaves alone. Such a call
 * works for Node's own modules and otherwise throws. Its presence is not an error, because it may never be reached.
 * @returns the code, and whether it has such calls.
 */
export async function packageCode(
  file: { path: string; code: string; loader: Loader },
  esbuild: typeof Esbuild,
  language: LanguageOptions,
): Promise<{ code: string; computed: boolean }> {
  const plain = withoutSourceMaps(file.code);
  if (!mayExpand(plain, file.loader)) return { code: plain, computed: false };
  const code = (await withoutModuleRequire({ ...file, code: plain }, esbuild)) ?? plain;
  const found = await computedImports({ ...file, code }, esbuild, language);
  return found.length === 0
    ? { code, computed: code !== plain }
    : { code: withoutComputedImports(code, found), computed: true };
}

/**
 * Comments that esbuild would follow: data URLs, which would put foreign file names into stack traces, and `file:`
 * URLs.
 */
const MAP_COMMENT = /(^[^'"`\n]*\/[/*])[#@](?= sourceMappingURL=)|(\/[/*])[#@](?= sourceMappingURL=\s*file:)/gim;
const withoutSourceMaps = (code: string): string =>
  code.includes('sourceMappingURL=')
    ? code.replace(MAP_COMMENT, (_, start?: string, other?: string) => `${start ?? other ?? ''} `)
    : code;

/**
 * What may follow the two words in JavaScript when no path is computed: one string without escapes or one name, and the
 * end of the call; or something that makes it not a call. esbuild decides about everything else.
 */
const ARGUMENT = String.raw`\s*\(\s*(?:'[^'\\\n]*'|"[^"\\\n]*"|[\w$]+(?:\.[\w$]+)*)\s*\)`;
const NO_CALL = String.raw`[\w$,;:=&|?}\-+>]`;
const HARMLESS = new RegExp(
  String.raw`require(?:${ARGUMENT}|\s*(?:${NO_CALL}|\.|\)(?!\s*[(/\`)])))|(?<![\w$.])import(?:${ARGUMENT}|\.meta\b|\s*[*{'"]|\s*${NO_CALL})`,
  'g',
);
/** An escaped letter of `require` counts too. */
const SUSPECT = /require|(?<![\w$.])import|\\u\{?0*(?:72|65|71|75|69)/;

const mayExpand = (code: string, loader: Loader): boolean =>
  loader === 'js' ? SUSPECT.test(code.replace(HARMLESS, '')) : mayComputeImports(code);

function withoutComputedImports(code: string, found: PartialMessage[]): string {
  // Line by line, with their ends between them, and in bytes: as esbuild counts.
  const lines = Buffer.from(code).toString('latin1').split(LINE_END);
  // From the end backwards, so that earlier positions stay valid.
  for (const { location, id } of found.toReversed()) {
    const { line = 1, column = 0, length = 0 } = location ?? {};
    const index = 2 * (line - 1);
    lines[index] = renamed(
      lines[index] ?? '',
      column,
      length,
      id === 'unsupported-dynamic-import' ? 'Import' : 'Require',
    );
  }
  return `${Buffer.from(lines.join(''), 'latin1').toString('utf8')}\n${AT_RUN_TIME}`;
}

const LINE_END = /(\r\n|\n|\r|\xe2\x80[\xa8\xa9])/;

const renamed = (line: string, column: number, length: number, name: string): string =>
  `${line.slice(0, column)}__wherry${name}${line.slice(column + length)}`;

/** Functions, which are there before the file's first line runs. A path that is a name is not expanded. */
const AT_RUN_TIME =
  'function __wherryRequire(path) { return require(path); }\nfunction __wherryImport(path) { return import(path); }\n';
