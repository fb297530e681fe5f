import type { BuildOptions } from 'esbuild';

type JsxOptions = Pick<BuildOptions, 'jsx' | 'jsxImportSource' | 'jsxFactory' | 'jsxFragment'>;
export type LanguageOptions = JsxOptions & { tsconfigRaw: { compilerOptions: Record<string, unknown> } };

/** What a tsconfig.json may decide about the output, and the type of each. All else in it is for editors. */
const FLAGS = ['experimentalDecorators', 'useDefineForClassFields', 'verbatimModuleSyntax'];
const STRING_OR_COMMENT = /("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?\*\//g;
const STRING_OR_LAST_COMMA = /("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g;

/**
 * The options of a source's tsconfig.json; without one, JSX is Hono's. esbuild never sees the file itself: it would
 * follow `extends` to any file of the machine (B2).
 * @throws SyntaxError when the text is not JSON with comments.
 */
export function languageOptions(text: string | undefined): LanguageOptions {
  const options = compilerOptions(text);
  const flags = FLAGS.filter((name) => typeof options[name] === 'boolean').map((name) => [name, options[name]]);
  return {
    ...jsxOptions(options),
    tsconfigRaw: { compilerOptions: Object.fromEntries(flags) as Record<string, unknown> },
  };
}

/** The part of a tsconfig.json that renames imports. */
export interface PathMapping {
  /** Below the source's root, without a slash at its end; undefined when it is not set. */
  baseUrl: string | undefined;
  /** By pattern, with at most one `*`, the paths below the source's root where it may be. */
  paths: Record<string, string[]>;
}

/** @throws SyntaxError when the text is not JSON with comments. */
export function pathMapping(text: string | undefined): PathMapping {
  const options = compilerOptions(text);
  const baseUrl = typeof options['baseUrl'] === 'string' ? below('', options['baseUrl']) : undefined;
  const paths = Object.entries(asRecord(options['paths'])).flatMap(([pattern, targets]) => {
    const inside = strings(targets).flatMap((target) => below(baseUrl ?? '', target) ?? []);
    return pattern.split('*').length > 2 ? [] : [[pattern, inside] as const];
  });
  return { baseUrl, paths: Object.fromEntries(paths) };
}

/** Where a specifier may be by the mapping, the best first; empty when the mapping says nothing of it. */
export function mappedPaths(specifier: string, { baseUrl, paths }: PathMapping): string[] {
  const exact = Object.hasOwn(paths, specifier) ? paths[specifier] : undefined;
  const mapped = exact ?? fromPattern(specifier, paths);
  return mapped.concat(baseUrl === undefined ? [] : [`${baseUrl}/${specifier}`.replace(/^\//, '')]);
}

/** TypeScript takes the pattern with the longest beginning. */
function fromPattern(specifier: string, paths: PathMapping['paths']): string[] {
  const found = Object.keys(paths)
    .map((pattern) => ({ pattern, parts: pattern.split('*') }))
    .filter(
      ({ parts: [start = '', end] }) =>
        end !== undefined &&
        specifier.length >= start.length + end.length &&
        specifier.startsWith(start) &&
        specifier.endsWith(end),
    )
    .sort((a, b) => (b.parts[0] ?? '').length - (a.parts[0] ?? '').length)[0];
  if (found === undefined) return [];
  const [start = '', end = ''] = found.parts;
  const star = specifier.slice(start.length, specifier.length - end.length);
  return (paths[found.pattern] ?? []).map((target) => target.replace('*', () => star));
}

/** Joins below the root; undefined for what leads above it. */
function below(folder: string, path: string): string | undefined {
  if (path.startsWith('/')) return undefined;
  const segments = folder.split('/').filter((segment) => segment !== '');
  for (const segment of path.split('/')) {
    if (segment === '..' && segments.pop() === undefined) return undefined;
    if (segment !== '..' && segment !== '.' && segment !== '') segments.push(segment);
  }
  return segments.join('/');
}

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];

function compilerOptions(text: string | undefined): Record<string, unknown> {
  return asRecord(asRecord(text === undefined ? {} : JSON.parse(withoutComments(text)))['compilerOptions']);
}

function jsxOptions(options: Record<string, unknown>): JsxOptions {
  const text = (name: string): string | undefined => (typeof options[name] === 'string' ? options[name] : undefined);
  if (text('jsx') !== 'react') return { jsx: 'automatic', jsxImportSource: text('jsxImportSource') ?? 'hono/jsx' };
  const [jsxFactory, jsxFragment] = [text('jsxFactory'), text('jsxFragmentFactory')];
  return { jsx: 'transform', ...(jsxFactory && { jsxFactory }), ...(jsxFragment && { jsxFragment }) };
}

/** JSON of JSON with comments and last commas, which become spaces: an error's line and column stay right. */
export function withoutComments(text: string): string {
  const blank = (match: string, string?: string): string => string ?? match.replace(/[^\n]/g, ' ');
  return text
    .replace(/^\uFEFF/, '')
    .replace(STRING_OR_COMMENT, blank)
    .replace(STRING_OR_LAST_COMMA, blank);
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
