import { findSourceMap } from 'node:module';
import { inspect } from 'node:util';
import { HANDLER_URL } from './handler-url.ts';

/** What stands in the message of a condition, at most. */
const MAX_LENGTH = 2000;
const AUTHOR_FRAME = /(?:file:\/\/)?\/app\/((?!handler\.mjs)[^\s():]+:\d+:\d+)/;
const ARTIFACT_LINE = /(?:file:\/\/)?\/app\/handler\.mjs:(\d+)(?::(\d+))?/;

/** One sentence for the author: the error, and the file, line and column of theirs where it arose, when known. */
export function describeLoadError(error: unknown): string {
  if (!(error instanceof Error)) return clip(`The handler threw ${inspect(error, { depth: 1 })} while loading.`);
  const message = `${error.name}: ${error.message.replaceAll('file:///app/handler.mjs', 'the handler')}`;
  const location = authorLocation(error.stack ?? '');
  return clip(location === undefined ? message : `${message} (${location})`);
}

function authorLocation(stack: string): string | undefined {
  const frame = AUTHOR_FRAME.exec(stack)?.[1];
  if (frame !== undefined) return frame;
  // Errors of parsing and linking name the artifact's line alone.
  const line = ARTIFACT_LINE.exec(stack);
  if (line === null) return undefined;
  const entry = findSourceMap(HANDLER_URL)?.findEntry(Number(line[1]) - 1, Number(line[2] ?? 1) - 1);
  if (entry === undefined || !('originalSource' in entry)) return undefined;
  const file = entry.originalSource.replace(/^(?:file:\/\/)?\/app\//, '');
  return `${file}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

const clip = (text: string): string => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text);
