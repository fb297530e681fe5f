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
  const { compilerOptions } = asRecord(text === undefined ? {} : JSON.parse(withoutComments(text)));
  const options = asRecord(compilerOptions);
  const flags = FLAGS.filter((name) => typeof options[name] === 'boolean').map((name) => [name, options[name]]);
  return { ...jsxOptions(options), tsconfigRaw: { compilerOptions: Object.fromEntries(flags) as Record<string, unknown> } };
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
  return text.replace(/^\uFEFF/, '').replace(STRING_OR_COMMENT, blank).replace(STRING_OR_LAST_COMMA, blank);
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
