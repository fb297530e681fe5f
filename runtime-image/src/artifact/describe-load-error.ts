import { inspect } from 'node:util';
import { HANDLER_URL } from './handler-url.ts';

/** The maximum length of the message of a condition. */
const MAX_LENGTH = 2000;
const AUTHOR_FRAME = /(?:file:\/\/)?\/app\/((?!handler\.mjs)[^\s():]+:\d+:\d+)/;

/** One sentence for the author: the error, and the file, line and column of theirs where it arose, when known. */
export function describeLoadError(error: unknown): string {
  if (!(error instanceof Error)) return clip(`The handler threw ${inspect(error, { depth: 1 })} while loading.`);
  const message = `${error.name}: ${error.message.replaceAll(HANDLER_URL, 'the handler')}`;
  // Errors of parsing and linking have no such frame: the builder would have found those of the author's.
  const location = AUTHOR_FRAME.exec(error.stack ?? '')?.[1];
  return clip(location === undefined ? message : `${message} (${location})`);
}

const clip = (text: string): string => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text);
