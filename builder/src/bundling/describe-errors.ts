import type { Message } from 'esbuild';
import type { SourceLocation } from '@wherry/core/ports/builder.ts';
import type { BuildFailureReport } from '../build-process/protocol.ts';
import type { Detail, FailureReason } from './build-problem.ts';
import { withoutSuffixes } from './module-kind.ts';

/** esbuild writes `<namespace>:<path>`; authors know the path. */
const NAMESPACE = /\b(?:app|entry|hono|package|throws):(?=[^\s"]*)/g;
const MAX_LENGTH = 1000;

/** The ids of esbuild's messages, and what they mean here. */
const COMPUTED = new Set(['unsupported-dynamic-import', 'unsupported-require-call']);
export const COMPUTED_ADVICE =
  'import() and require() accept only a literal path, because the function is bundled into one module. Import each file that may be needed by name, and choose among them';

/** The failure of a build: its first error, its location, and how many more there are. */
export function describeErrors(errors: readonly Message[]): BuildFailureReport {
  const [first] = errors;
  if (first === undefined) return { reason: 'BuildFailed', message: 'The code could not be built.' };
  const location = locationOf(first);
  const place = location === undefined ? '' : `${location.file}:${location.line}:${location.column}: `;
  const more =
    errors.length === 1 ? '' : ` (and ${errors.length - 1} more ${errors.length === 2 ? 'error' : 'errors'})`;
  const { reason, text } = classify(first);
  return { reason, message: `${place}${clip(text)}${more}`, ...(location && { location }) };
}

function classify(error: Message): { reason: FailureReason; text: string } {
  const reason = (error.detail as Detail | undefined)?.reason;
  if (reason !== undefined) return { reason, text: error.text };
  const text = sentence(withoutSuffixes(error.text.replace(NAMESPACE, '')));
  if (error.location?.file.startsWith('entry:') === true) return noDefaultExport(error.text);
  if (COMPUTED.has(error.id)) return { reason: 'ImportNotSupported', text: `${COMPUTED_ADVICE}.` };
  const native = nativeAddOn(error);
  if (native !== undefined) return { reason: 'ImportNotSupported', text: native };
  if (/^No matching export in /.test(error.text)) return { reason: 'ImportNotFound', text };
  return { reason: error.location === null ? 'BuildFailed' : 'SyntaxError', text };
}

/** The one import in packages that is left unresolved: see `sources-plugin.ts`. */
function nativeAddOn({ text, location }: Message): string | undefined {
  const [, name] = /^package:.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(location?.file ?? '') ?? [];
  if (name === undefined || !text.startsWith('Could not resolve ')) return undefined;
  return nativeAddOnText(name);
}

export const nativeAddOnText = (name: string): string =>
  `The package ${name} is a native add-on, which cannot run here. Use a WebAssembly or JavaScript version of it.`;

/** esbuild reports it for the import of the handler, which we write ourselves. */
function noDefaultExport(text: string): ReturnType<typeof classify> {
  return { reason: 'ExportError', text: exportAdvice(/"app:([^"]*)"/.exec(text)?.[1] ?? 'The handler') };
}

export const exportAdvice = (file: string): string =>
  `${file} has no default export. Export the handler as default: a function, as in ` +
  'export default async (c, ctx) => c.text("hello"), or an object with fetch(request, env, ctx).';

/** Where an error is, in a file of an author's or of a package. */
export function locationOf({ location }: Message): SourceLocation | undefined {
  const [, file] = /^(?:app|package):(.*)$/s.exec(location?.file ?? '') ?? [];
  if (location === null || file === undefined) return undefined;
  // esbuild counts bytes from 0, editors characters from 1.
  const before = Buffer.from(location.lineText).subarray(0, location.column).toString();
  return { file: withoutSuffixes(file), line: location.line, column: before.length + 1 };
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
const clip = (text: string): string => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text);
